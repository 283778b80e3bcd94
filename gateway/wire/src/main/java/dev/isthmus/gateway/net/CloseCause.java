package dev.isthmus.gateway.net;

/** Why a client connection was closed. */
public enum CloseCause implements Labelled {
    /** The client closed or reset it. */
    CLIENT,
    /** It, or a request on it, timed out because of the client. */
    TIMEOUT,
    /** The gateway drains or stops. */
    DRAIN,
    /** The gateway closed it for another reason: a protocol error, abuse, or after the last response. */
    GATEWAY
}
