"""Tool calls for model objects of other libraries that only write text: no server, and no HTTP of ours.

One module for each library, which is imported by itself and needs that library. What a model is asked, what is read of
its reply, and what becomes of a call that is rejected is decided by `xmltools.proxy.bridge`, as in the proxy and the
transport.
"""
