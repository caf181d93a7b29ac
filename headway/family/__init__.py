"""The paper's relatives at work: what GPT goes on with, what BERT fills in, how BERT and ViT sort."""
