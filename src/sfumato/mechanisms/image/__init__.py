"""3A for images: class-conditional clusters with their covariance, and a teacher that labels."""
