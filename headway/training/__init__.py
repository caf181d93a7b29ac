"""From a prepared corpus to a trained bundle."""
