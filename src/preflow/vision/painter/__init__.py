"""A page on which a user paints seeds: the session behind it, a local server, and a widget for notebooks."""
