/**
 * The REST interface as OpenAPI documents: of the gateway, made from the tables of its paths, and of one model, made
 * from its metadata, with an example request. Values only: nothing here sends a request.
 */
@NullMarked
package dev.isthmus.gateway.openapi;

import org.jspecify.annotations.NullMarked;
