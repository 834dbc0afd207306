"""Long request bodies: decoded in processes of their own, or slice by slice, so that other requests do not wait."""
