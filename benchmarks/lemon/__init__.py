"""Programs that measure LEMON, a C++ library, beside preflow."""
