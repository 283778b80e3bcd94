package dev.isthmus.gateway.admin;

import dev.isthmus.oip.OipException;

/** Answers operators on one route. */
@FunctionalInterface
public interface AdminHandler {

    /**
     * Answers. Called on a thread of the admin listener, of which there are few; it may block for a while.
     *
     * @throws OipException for what is refused; its code's HTTP status is answered
     */
    AdminResponse answer(AdminRequest request);
}
