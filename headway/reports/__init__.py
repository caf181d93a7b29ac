"""Pages and pictures of what was trained."""
