package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.GatewayConfig.ErrorTexts;
import dev.isthmus.gateway.settings.GatewayConfig.HealthBody;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import dev.isthmus.transcoder.message.NonFinite;

@Doc("Form of responses where the client does not ask for another.")
public record ResponseConfig(
        @Doc("How NaN and infinities are written in JSON.") @Default("token")
        NonFinite nonFinite,

        @Doc("Response message of ModelStreamInfer.") @Default("triton")
        StreamMessageForm streamForm,

        @Doc("Size above which REST responses to inferences are compressed.") @Size @Default("1KiB")
        int compressAbove,

        @Doc("Whether REST responses to inferences are compressed for clients that accept it.") @Default("true")
        boolean compress,

        @Doc("Body of health responses.") @Default("json") HealthBody healthBody,

        @Doc("HTTP status of 'not ready': 400, as in the protocol and Triton, or 503, as load " + "balancers expect.")
        @OneOf({400, 503})
        @Default("400")
        int notReadyStatus,

        @Doc("Error texts for clients. client_errors: what servers say about a client's mistake, without "
                + "addresses, paths and stack traces; a fixed text for all other failures and in place of names "
                + "of upstreams. generic: fixed texts only. passed: the full text. What is hidden is logged. The "
                + "gateway's own texts about the request are always shown.")
        @Default("client_errors")
        ErrorTexts errors,

        @Doc("Whether responses of failed calls have the header isthmus-cause, in gRPC's trailers.") @Default("false")
        boolean cause) {}
