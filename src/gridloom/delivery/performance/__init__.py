"""What batteries did against what they must."""
