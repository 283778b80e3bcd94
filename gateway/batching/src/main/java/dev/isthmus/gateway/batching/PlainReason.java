package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.net.Labelled;

/** Why a request is sent as if requests were not joined. */
enum PlainReason implements Labelled {
    /** A sticky key or a sequence chooses its server. */
    AFFINITY,
    /** Its deadline is too near to wait. */
    DEADLINE,
    /** It may have several responses, or the upstream is the local backend. */
    KIND,
    /** Its inputs have no common first dimension, or none at all. */
    SHAPE,
    /** It has too many rows or bytes for one call with another one. */
    SIZE,
    /** A tensor of it is in shared memory. */
    SHARED_MEMORY,
    /** Its JSON may mean another thing if it is written again. */
    JSON,
    /** It is invalid; the server says so. */
    INVALID,
    /** The model does not batch, its calls do not return one row for each row, or they fail if they are joined. */
    REFUSED,
    /** The route has too many models. */
    MODELS
}
