"""What several conversation formats share."""
