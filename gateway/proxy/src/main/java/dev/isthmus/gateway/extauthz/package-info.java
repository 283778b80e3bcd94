/**
 * Calls that another service decides about, with Envoy's ext_authz. {@code ExternalAuthorization} is the layer,
 * {@code AuthorizationService} the service. What the gateway's own rules decide is in {@code access}.
 */
@NullMarked
package dev.isthmus.gateway.extauthz;

import org.jspecify.annotations.NullMarked;
