package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Operation;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http.HttpHeaderNames;
import java.util.Locale;

/**
 * Refuses requests that change servers if a web page of another origin could have sent them without the browser asking
 * first: a POST whose content type is not JSON (Fetch Standard, CORS-safelisted request headers). Clients other than
 * browsers may leave the content type out, as Triton's do.
 */
final class ManagementContentType {
    private static final String SEC_FETCH_SITE = "sec-fetch-site";

    private ManagementContentType() {}

    /** @throws OipException UNSUPPORTED_MEDIA_TYPE */
    static void check(Operation operation, RequestHead head) {
        if (!(operation instanceof Operation.Manage manage) || !manage.change()) {
            return;
        }
        String type = head.value(HttpHeaderNames.CONTENT_TYPE.toString());
        boolean browser = head.field(HttpHeaderNames.ORIGIN) != null || head.field(SEC_FETCH_SITE) != null;
        if (type == null ? browser : !isJson(type)) {
            throw new OipException(
                    ErrorCode.UNSUPPORTED_MEDIA_TYPE,
                    "header Content-Type: application/json is expected" + (type == null ? "" : ", got '" + type + "'"));
        }
    }

    private static boolean isJson(String type) {
        int end = type.indexOf(';');
        String media = (end < 0 ? type : type.substring(0, end)).strip().toLowerCase(Locale.ROOT);
        return media.equals("application/json") || (media.startsWith("application/") && media.endsWith("+json"));
    }
}
