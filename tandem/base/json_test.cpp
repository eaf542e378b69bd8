// SPDX-License-Identifier: Apache-2.0
// Goal: Json keeps order, types and hostile input at bay. Method: exact texts.
#include "tandem/base/json.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tandem {
namespace {

TEST(Json, KeepsMemberOrderAndIntegers) {
  Json json = Json::object({{"z", 1}, {"a", Json::Array{Json(2.5), Json("x"), Json(true), Json()}}});
  json.set("big", int64_t{9007199254740993});
  EXPECT_EQ(json.dump(), R"({"z":1,"a":[2.5,"x",true,null],"big":9007199254740993})");
  const auto back = Json::parse(json.dump());
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, json);
}

TEST(Json, PrintsNotANumberAsNull) { EXPECT_EQ(Json(std::nan("")).dump(), "null"); }

TEST(Json, MissingMembersAreNull) {
  const Json json = Json::object({{"a", 1}});
  EXPECT_TRUE(json["b"]["c"].is_null());
  EXPECT_EQ(json["b"].as_int(7), 7);
}

TEST(Json, RefusesGarbageWithAPosition) {
  const auto result = Json::parse("{\"a\": 1,\n oops}");
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message().find("line 2"), std::string::npos) << result.error().message();
}

TEST(Json, RefusesDeepNesting) {
  EXPECT_FALSE(Json::parse(std::string(100000, '[')).ok());
  EXPECT_TRUE(Json::parse(std::string(200, '[') + std::string(200, ']')).ok());
}

}  // namespace
}  // namespace tandem
