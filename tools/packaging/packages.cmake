# Settings of `cpack -G DEB`, which makes four packages, one for each component of the install rules (README.md in this
# folder).
#
#   library      libkiln0       the shared libraries: libkiln, libkiln-catalogue
#   development  libkiln-dev    headers, static libraries, files of CMake and pkg-config
#   command      kiln           the command, its worker, the catalogue, pages, and files of rules without a component
#   simulator    kiln-sim       the simulated libcuda.so.1 and its other libraries and programs
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME kiln)
set(CPACK_PACKAGE_VENDOR "The Kiln developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library development command simulator)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY OFF)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian/finish.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SECTION contrib/science) # contrib, because the compiler NVRTC is not free software
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libkiln${KILN_ABI})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION contrib/libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "kiln (= ${version})")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "tunes and launches CUDA kernels compiled at run time (library)
Kiln finds the fastest configuration of a CUDA kernel: it reads a description
of the kernel, compiles with NVRTC, checks every answer and measures. Without
a GPU kernels run on a simulated device.
.
This package has the shared libraries: that of the engine, and the host
functions of the catalogue. The package kiln has what it starts to
compile in processes of its own, and the catalogue of kernels.")
# This file is not left to CPack, which would also list the libcuda.so.1 of the simulator. Packages of other software
# would then depend on the simulator.
file(WRITE ${PROJECT_BINARY_DIR}/packaging/shlibs "libkiln ${KILN_ABI} libkiln${KILN_ABI} (>= ${PROJECT_VERSION})
libkiln-catalogue ${KILN_ABI} libkiln${KILN_ABI} (>= ${PROJECT_VERSION})\n")
file(WRITE ${PROJECT_BINARY_DIR}/packaging/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/packaging/shlibs
                                               ${PROJECT_BINARY_DIR}/packaging/triggers)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libkiln-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION contrib/libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libkiln${KILN_ABI} (= ${version}), libelf-dev, libjansson-dev, liblz4-dev, \
libsqlite3-dev, libxxhash-dev, libyaml-dev, libzstd-dev, zlib1g-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "tunes and launches CUDA kernels compiled at run time (development files)
Kiln finds the fastest configuration of a CUDA kernel: it reads a description
of the kernel, compiles with NVRTC, checks every answer and measures. Without
a GPU kernels run on a simulated device.
.
This package has the headers, the static libraries, and the files by which
find_package(kiln) of CMake and pkg-config find them.")

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME kiln)
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS libjs-vega)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SUGGESTS "nodejs, librsvg2-bin, nvidia-cuda-toolkit, python3-pip, kiln-sim (= ${version}), libkiln-dev (= ${version})")
set(CPACK_COMPONENT_COMMAND_DESCRIPTION "finds the fastest configuration of a CUDA kernel
A kernel with tuning parameters (tile width, unroll depth, items per thread)
is described in a YAML file. Kiln sets the parameters, compiles at run time
with NVRTC, checks every answer and measures. Without a GPU everything runs on
a simulated device, which also finds races and accesses out of bounds, and
estimates times of GPUs that are not there.
.
NVRTC, NVIDIA's compiler, is not in Debian main. It comes with
nvidia-cuda-toolkit (non-free) or from PyPI; \"kiln doctor\" prints the command
that installs the wheels nvidia-cuda-nvrtc, nvidia-cuda-runtime,
nvidia-cuda-crt and nvidia-cuda-cccl where Kiln finds them.")

set(CPACK_DEBIAN_SIMULATOR_PACKAGE_NAME kiln-sim)
set(CPACK_DEBIAN_SIMULATOR_PACKAGE_SUGGESTS "kiln (= ${version}), nvidia-cuda-toolkit")
set(CPACK_COMPONENT_SIMULATOR_DESCRIPTION "simulated CUDA device for programs of the driver API
A libcuda.so.1 that runs PTX on the processor, for programs that know nothing
of Kiln. It lies in a folder of its own, /usr/lib/*/kiln, and stands in for a
GPU's driver only for who asks for it by LD_LIBRARY_PATH.
.
Beside it are a libnvJitLink.so.13 that links PTX, and an nvcc that has the
toolkit's nvcc make PTX in place of machine code. The command kiln has the same
device inside and does not need this package.")

configure_file(${CMAKE_CURRENT_LIST_DIR}/debian/settings.cmake.in ${PROJECT_BINARY_DIR}/packaging/settings.cmake @ONLY)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_BINARY_DIR}/packaging/settings.cmake)
include(CPack)
