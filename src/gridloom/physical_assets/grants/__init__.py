"""What other organisations may do with an asset."""
