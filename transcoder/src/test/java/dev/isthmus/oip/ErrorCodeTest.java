package dev.isthmus.oip;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The HTTP and gRPC statuses. */
class ErrorCodeTest {

    @ParameterizedTest
    @CsvSource({
        "INVALID_ARGUMENT,400,3",
        "DEADLINE_EXCEEDED,504,4",
        "NOT_FOUND,404,5",
        "RESOURCE_EXHAUSTED,429,8",
        "OVERLOADED,503,8",
        "UNAVAILABLE,503,14",
        "INTERNAL,500,13",
        "CANCELLED,499,1",
    })
    void code_hasBothStatuses(ErrorCode code, int http, int grpc) {
        assertThat(code.httpStatus()).isEqualTo(http);
        assertThat(code.grpcStatus()).isEqualTo(grpc);
    }

    @ParameterizedTest
    @EnumSource
    void grpcStatus_comesBackAsItself(ErrorCode code) {
        assertThat(ErrorCode.ofGrpcStatus(code.grpcStatus()).grpcStatus()).isEqualTo(code.grpcStatus());
    }

    @ParameterizedTest
    @EnumSource
    void httpStatus_comesBackInItsClass(ErrorCode code) {
        int status = ErrorCode.ofHttpStatus(code.httpStatus()).httpStatus();
        assertThat(status / 100).isEqualTo(code.httpStatus() / 100);
    }

    @Test
    void refusals_ofPeers_areTheirOwn() {
        assertThat(ErrorCode.ofHttpStatus(503)).isEqualTo(ErrorCode.UNAVAILABLE);
        assertThat(ErrorCode.ofGrpcStatus(8)).isEqualTo(ErrorCode.RESOURCE_EXHAUSTED);
    }
}
