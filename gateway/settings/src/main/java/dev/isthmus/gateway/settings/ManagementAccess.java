package dev.isthmus.gateway.settings;

/** Whether a listener serves operations that change servers. */
public enum ManagementAccess {
    DENY,
    ALLOW
}
