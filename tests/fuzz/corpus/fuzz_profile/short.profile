# NVIDIA T4, 16 GB.
# Sources:
#   driver      as the device's own driver reports it (cuDeviceGetAttribute), from public listings
#   guide       CUDA C++ Programming Guide 12.9: technical specificati