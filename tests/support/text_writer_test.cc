#include "support/text_writer.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(TextWriter, indents_and_maps_every_line) {
  TextWriter writer;
  writer.line("#pragma once");
  writer.open("void f() {", Loc::at("dir/a.cc", 3));
  writer.line("x = 1;\n\ny = 2;", Loc::at("dir/a.cc", 4));
  writer.close();
  EXPECT_EQ(writer.text(), "#pragma once\nvoid f() {\n  x = 1;\n\n  y = 2;\n}\n");
  const SourceMap& map = writer.source_map();
  ASSERT_EQ(map.locs.size(), 6u);
  EXPECT_EQ(map.find(1), nullptr);
  EXPECT_EQ(map.find(2)->line, 3);
  for (int line : {3, 4, 5}) EXPECT_EQ(map.find(line)->line, 4);
  EXPECT_EQ(map.find(6), nullptr);
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_EQ(map.find(7), nullptr);
}

TEST(TextWriter, annotates_the_first_line_of_each_position) {
  TextWriter writer;
  writer.line("a", Loc::at("dir/a.cc", 3));
  writer.line("b", Loc::at("dir/a.cc", 3));
  writer.line("c");
  writer.line("d", Loc::at("dir/a.cc", 9));
  EXPECT_EQ(writer.annotated(), "a  // a.cc:3\nb\nc\nd  // a.cc:9\n");
}

}  // namespace
}  // namespace tilewright
