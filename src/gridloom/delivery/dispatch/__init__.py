"""What each battery must do: versions, and what stands of them."""
