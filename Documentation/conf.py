# SPDX-License-Identifier: GPL-2.0
#
# For sphinx, started by scripts/htmldocs. kernel-doc comments are read by the
# kernel's own extension, from the source that the variable srctree names.
import os
import sys

srctree = os.environ['srctree']
sys.path.insert(0, os.path.join(srctree, 'Documentation/sphinx'))

project = 'usb4net_rdma'
extensions = ['kerneldoc']
kerneldoc_srctree = os.path.abspath('..')
kerneldoc_bin = [os.path.join(srctree, 'scripts/kernel-doc')]
root_doc = 'index'
exclude_patterns = ['ABI', 'examples']
primary_domain = 'c'
highlight_language = 'none'
html_theme = 'alabaster'
html_theme_options = {'page_width': '70em', 'sidebar_width': '14em'}
html_show_copyright = False
html_copy_source = False
# The kernel's types and functions are not in these pages.
nitpicky = False
c_id_attributes = ['__packed', '__rcu', '__iomem', '__user']
