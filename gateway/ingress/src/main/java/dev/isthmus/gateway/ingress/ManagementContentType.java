package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Operation;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http.HttpHeaderNames;
import java.util.Locale;

/**
 * Refuses requests that change servers if a web page of another origin could have sent them without the browser asking
 * first: a POST without a content type, or with that of a form or a text (Fetch Standard, CORS-safelisted request
 * headers). Browsers say that they send it for a page: they set {@code Origin} in each POST, and {@code
 * Sec-Fetch-Site}. Other clients may send any content type, as curl and Triton's clients do.
 */
final class ManagementContentType {
    private static final String SEC_FETCH_SITE = "sec-fetch-site";

    private ManagementContentType() {}

    /** @throws OipException UNSUPPORTED_MEDIA_TYPE */
    static void check(Operation operation, RequestHead head) {
        if (!(operation instanceof Operation.Manage manage) || !manage.change() || !isOfPage(head)) {
            return;
        }
        String type = head.value(HttpHeaderNames.CONTENT_TYPE.toString());
        if (type == null || isOfForm(type)) {
            throw new OipException(
                    ErrorCode.UNSUPPORTED_MEDIA_TYPE,
                    "header Content-Type: application/json is expected from web pages"
                            + (type == null ? "" : ", got '" + type + "'"));
        }
    }

    private static boolean isOfPage(RequestHead head) {
        if (head.field(HttpHeaderNames.ORIGIN) != null) {
            return true;
        }
        for (String site : head.all(SEC_FETCH_SITE)) {
            if (!site.equals("none") && !site.equals("same-origin")) {
                return true;
            }
        }
        return false;
    }

    private static boolean isOfForm(String type) {
        int end = type.indexOf(';');
        String media = (end < 0 ? type : type.substring(0, end)).strip().toLowerCase(Locale.ROOT);
        return media.isEmpty()
                || media.startsWith("text/")
                || media.startsWith("multipart/")
                || media.equals("application/x-www-form-urlencoded");
    }
}
