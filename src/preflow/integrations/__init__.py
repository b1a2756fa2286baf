"""preflow behind the interfaces of other libraries."""
