package dev.isthmus.gateway.shadow;

import dev.isthmus.transcoder.InferMessage;

/**
 * What becomes of a main call, as told to its copies: one of the two, on the call's event loop, before the client's reply
 * ends. Whatever comes after the first is ignored. Nothing is thrown.
 */
public interface PrimaryCallObserver {

    /** Of a call without copies. */
    PrimaryCallObserver NONE = new PrimaryCallObserver() {
        @Override
        public boolean compares() {
            return false;
        }

        @Override
        public void answered(InferMessage answer) {}

        @Override
        public void ended() {}
    };

    /** Whether an answer is wanted, whole; where not, its call need only be told of as ended. */
    boolean compares();

    /**
     * The server answered.
     *
     * @param answer on the server's wire, borrowed: what is kept of it is retained, not copied
     */
    void answered(InferMessage answer);

    /** There is no answer to compare with: the call failed, or the client has gone. */
    void ended();
}
