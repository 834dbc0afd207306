"""Price files that markets publish, read into reference prices."""
