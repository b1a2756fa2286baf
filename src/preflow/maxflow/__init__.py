"""Maximum flow and minimum cut on general networks."""
