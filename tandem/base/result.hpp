// SPDX-License-Identifier: Apache-2.0
// Result<T> and Status: how expected errors travel. Programmer's mistakes use check.hpp instead.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tandem {

// The value of a code is the exit code of the program.
enum class ErrorCode : int {
  kGateFailed = 1,
  kUsage = 2,
  kBadInput = 3,
  kUnsupported = 4,
  kDevice = 5,
  kInternal = 6,
  kIo = 7,
  kInterrupted = 130,
};

const char* to_string(ErrorCode code);

// What went wrong, why, and what the user can do. `what` names the thing ("cannot read model 'x.onnx'").
class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string what, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : code_(code), what_(std::move(what)), file_(file), line_(line) {}

  Error& because(std::string text) & { because_ = std::move(text); return *this; }
  Error&& because(std::string text) && { because_ = std::move(text); return std::move(*this); }
  Error& hint(std::string text) & { hint_ = std::move(text); return *this; }
  Error&& hint(std::string text) && { hint_ = std::move(text); return std::move(*this); }
  // Puts an outer circumstance before the message: "importing node 'conv1': ...".
  Error& context(const std::string& outer) & { what_ = outer + ": " + what_; return *this; }
  Error&& context(const std::string& outer) && { what_ = outer + ": " + what_; return std::move(*this); }

  ErrorCode code() const { return code_; }
  const std::string& what() const { return what_; }
  const std::string& because_text() const { return because_; }
  const std::string& hint_text() const { return hint_; }
  const char* file() const { return file_; }
  int line() const { return line_; }
  // One to three lines: what / because / hint.
  std::string message() const;

 private:
  ErrorCode code_;
  std::string what_;
  std::string because_;
  std::string hint_;
  const char* file_;
  int line_;
};

inline Error usage_error(std::string what, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return Error(ErrorCode::kUsage, std::move(what), file, line);
}
inline Error bad_input(std::string what, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return Error(ErrorCode::kBadInput, std::move(what), file, line);
}
inline Error unsupported(std::string what, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return Error(ErrorCode::kUnsupported, std::move(what), file, line);
}
inline Error io_error(std::string what, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return Error(ErrorCode::kIo, std::move(what), file, line);
}
inline Error internal_error(std::string what, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return Error(ErrorCode::kInternal, std::move(what), file, line);
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}     // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // Precondition of value access: ok(). Aborts otherwise (std::get would throw).
  T& value() & { return *checked(); }
  const T& value() const& { return *const_cast<Result*>(this)->checked(); }
  T&& value() && { return std::move(*checked()); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return checked(); }
  const T* operator->() const { return const_cast<Result*>(this)->checked(); }
  T value_or(T other) const& { return ok() ? value() : std::move(other); }

  const Error& error() const& { return *failed(); }
  Error&& error() && { return std::move(*const_cast<Error*>(failed())); }
  Result context(const std::string& outer) && {
    if (!ok()) std::get_if<1>(&state_)->context(outer);
    return std::move(*this);
  }

 private:
  T* checked();
  const Error* failed() const;
  std::variant<T, Error> state_;
};

namespace detail {
[[noreturn]] void die_on_value_of(const Error& error);
[[noreturn]] void die_on_error_of_success();
}  // namespace detail

template <typename T>
T* Result<T>::checked() {
  if (!ok()) detail::die_on_value_of(*std::get_if<1>(&state_));
  return std::get_if<0>(&state_);
}

template <typename T>
const Error* Result<T>::failed() const {
  if (ok()) detail::die_on_error_of_success();
  return std::get_if<1>(&state_);
}

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  void value() const {
    if (error_) detail::die_on_value_of(*error_);
  }
  const Error& error() const& {
    if (!error_) detail::die_on_error_of_success();
    return *error_;
  }
  Error&& error() && {
    if (!error_) detail::die_on_error_of_success();
    return std::move(*error_);
  }
  Result context(const std::string& outer) && {
    if (error_) error_->context(outer);
    return std::move(*this);
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace tandem

// The value of `expr`, or return its error from the enclosing function. The only propagation macro.
#define TANDEM_TRY(expr)                                              \
  __extension__({                                                     \
    auto tandem_try_result_ = (expr);                                 \
    if (!tandem_try_result_.ok()) return std::move(tandem_try_result_).error(); \
    std::move(tandem_try_result_).value();                            \
  })
