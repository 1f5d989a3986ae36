// Limits how many tests run side by side and takes proxies out of the environment, by being linked.
