package dev.isthmus.gateway.catalogue;

/** When a model is ready that several servers serve. Without a server it never is. */
public enum ModelReadiness {
    /** One server is enough. */
    ANY,
    /** Every server must be. */
    ALL,
    /** More than half of the servers must be. */
    QUORUM;

    /**
     * Judges the states.
     *
     * @param replicas the servers of all targets of the model together
     */
    public boolean ready(ReadyCount replicas) {
        return switch (this) {
            case ANY -> replicas.ready() > 0;
            case ALL -> replicas.total() > 0 && replicas.ready() == replicas.total();
            case QUORUM -> replicas.ready() > replicas.total() / 2;
        };
    }
}
