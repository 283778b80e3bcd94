package dev.isthmus.gateway.admin;

import dev.isthmus.oip.OipException;

/** Handles the requests of one admin route. */
@FunctionalInterface
public interface AdminHandler {

    /**
     * Handles a request. Called on one of the few threads of the admin listener; may block briefly.
     *
     * @throws OipException to reject the request with the HTTP status of its code
     */
    AdminResponse handle(AdminRequest request);
}
