// SPDX-License-Identifier: Apache-2.0
// Goal: every form of labelled data becomes the same lists on every machine; what cannot be used is said.
// Method: tiny folders, IDX files and CSVs made here.
#include "tandem/data/dataset.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "tandem/data/labels.hpp"
#include "tandem/data/test_images.hpp"

namespace tandem::data {
namespace {

using test::Folder;
using test::gzip;
using test::idx_images_file;
using test::idx_labels_file;
using test::jpeg_file;
using test::quarters;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string photo() {
  static const std::string bytes = jpeg_file(quarters(32));
  return bytes;
}

void write_class(const Folder& folder, const std::string& name, int count) {
  for (int i = 0; i < count; ++i) folder.write(fmt::format("{}/{:03}.jpg", name, i), photo());
}

std::vector<std::string> names_in(const Dataset& dataset, const Folder& folder) {
  std::vector<std::string> names;
  for (const Sample& sample : dataset.samples) names.push_back(sample.path.substr(folder.path().size() + 1));
  return names;
}

std::string all_notes(const Datasets& data) {
  std::string text;
  for (const auto& note : data.notes) text += note + "\n";
  return text;
}

TEST(Dataset, TrainAndValFoldersAreTaken) {
  Folder folder;
  write_class(folder, "train/dog", 2);
  write_class(folder, "train/cat", 1);
  write_class(folder, "val/cat", 1);
  write_class(folder, "val/dog", 1);
  const auto data = open_datasets(folder.path());
  ASSERT_TRUE(data.ok()) << data.error().message();
  EXPECT_THAT(data->train.class_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(names_in(data->train, folder),
              ElementsAre("train/cat/000.jpg", "train/dog/000.jpg", "train/dog/001.jpg"));
  EXPECT_EQ(data->train.samples[1].label, 1);
  EXPECT_THAT(names_in(data->val, folder), ElementsAre("val/cat/000.jpg", "val/dog/000.jpg"));
  EXPECT_EQ(data->val.class_names, data->train.class_names);
  EXPECT_THAT(all_notes(*data), HasSubstr("class 'cat' has one image"));
  EXPECT_EQ(open_labelled(folder.path() + "/")->samples.size(), 2u);
  EXPECT_EQ(load_image(data->val, 0)->width, 32);
}

TEST(Dataset, OneFolderIsSplitByClassAndSeed) {
  Folder folder;
  write_class(folder, "a", 20);
  write_class(folder, "b", 10);
  write_class(folder, "c", 2);
  DatasetOptions options;
  const Datasets data = *open_datasets(folder.path(), options);
  EXPECT_THAT(data.train.class_counts(), ElementsAre(16, 8, 1));
  EXPECT_THAT(data.val.class_counts(), ElementsAre(4, 2, 1));
  EXPECT_THAT(all_notes(data), HasSubstr("seed 42"));
  std::set<std::string> all;
  for (const auto& sample : data.train.samples) all.insert(sample.path);
  for (const auto& sample : data.val.samples) all.insert(sample.path);
  EXPECT_EQ(all.size(), 32u);
  EXPECT_EQ(names_in(open_datasets(folder.path(), options)->val, folder), names_in(data.val, folder));
  options.seed = 43;
  EXPECT_NE(names_in(open_datasets(folder.path(), options)->val, folder), names_in(data.val, folder));
  EXPECT_EQ(open_labelled(folder.path())->samples.size(), 32u);
}

TEST(Dataset, LimitsAreStratifiedAndNested) {
  Folder folder;
  write_class(folder, "a", 30);
  write_class(folder, "b", 10);
  write_class(folder, "c", 1);
  const Dataset all = *open_labelled(folder.path());
  EXPECT_THAT(limited(all, 8, 1).class_counts(), ElementsAre(5, 2, 1));
  EXPECT_EQ(limited(all, 0, 1).samples.size(), 41u);
  EXPECT_EQ(limited(all, 100, 1).samples.size(), 41u);
  EXPECT_EQ(limited(all, 2, 1).samples.size(), 2u);
  const auto few = names_in(limited(all, 8, 1), folder), more = names_in(limited(all, 20, 1), folder);
  EXPECT_TRUE(std::includes(more.begin(), more.end(), few.begin(), few.end()));
  EXPECT_TRUE(std::is_sorted(more.begin(), more.end()));
  EXPECT_NE(names_in(limited(all, 8, 2), folder), few);
}

TEST(Dataset, G32HiddenAndJunkEntriesAreIgnoredAndListed) {
  Folder folder;
  write_class(folder, "a", 2);
  write_class(folder, "b", 2);
  folder.write(".ipynb_checkpoints/x.jpg", photo());
  folder.write("__MACOSX/a/x.jpg", photo());
  folder.write(".DS_Store", "junk");
  folder.write("Thumbs.db", "junk");
  folder.write("a/._img.jpg", "junk");
  const Dataset data = *open_labelled(folder.path());
  EXPECT_THAT(data.class_names, ElementsAre("a", "b"));
  EXPECT_EQ(data.samples.size(), 4u);
  EXPECT_TRUE(data.skipped.empty());
  std::vector<std::string> ignored;
  for (const Skipped& entry : data.ignored) ignored.push_back(entry.path.substr(folder.path().size() + 1));
  EXPECT_THAT(ignored, ::testing::UnorderedElementsAre(".DS_Store", ".ipynb_checkpoints", "Thumbs.db",
                                                       "__MACOSX", "a/._img.jpg"));
}

TEST(Dataset, G31BrokenFilesAreNamedOnceWithAReason) {
  Folder folder;
  const std::string whole = jpeg_file(quarters(64));
  folder.write("a/cut54.jpg", whole.substr(0, whole.size() - 54));
  folder.write("a/cut25.jpg", whole.substr(0, whole.size() / 4));
  folder.write("a/empty.jpg", "");
  folder.write("a/really_png.jpg", *encode_png(quarters(8)));
  folder.write("a/text.png", "this is a text");
  write_class(folder, "a", 3);
  const Dataset data = *open_labelled(folder.path());
  ASSERT_EQ(data.samples.size(), 8u);
  std::vector<std::string> good;
  std::vector<Skipped> bad;
  for (size_t i = 0; i < data.samples.size(); ++i) {
    const auto image = load_image(data, i);
    if (image.ok()) {
      good.push_back(data.name(i).substr(folder.path().size() + 3));
    } else {
      EXPECT_THAT(image.error().message(), HasSubstr(data.name(i)));
      bad.push_back({data.name(i), image.error().message()});
    }
  }
  EXPECT_THAT(good, ElementsAre("000.jpg", "001.jpg", "002.jpg", "really_png.jpg"));
  EXPECT_EQ(bad.size(), 4u);
  EXPECT_TRUE(refuse_skipped({}).ok());
  const Status strict = refuse_skipped(bad);
  ASSERT_FALSE(strict.ok());
  EXPECT_EQ(strict.error().code(), ErrorCode::kGateFailed);
  EXPECT_THAT(strict.error().message(), HasSubstr("empty.jpg"));
}

TEST(Dataset, FilesOutsideClassesAndOtherKindsAreSkippedAloud) {
  Folder folder;
  write_class(folder, "a", 2);
  write_class(folder, "b", 2);
  folder.write("stray.jpg", photo());
  folder.write("a/moving.gif", "GIF89a");
  folder.write("a/notes.txt", "text");
  folder.write("b/deep/er/x.PNG", *encode_png(quarters(4)));
  std::filesystem::create_symlink(folder.file("nowhere"), folder.file("b/link.jpg"));
  std::filesystem::create_directory_symlink(folder.file("b"), folder.file("b/deep/loop"));
  const Dataset data = *open_labelled(folder.path());
  EXPECT_EQ(data.class_counts()[1], 3);
  std::string skipped;
  for (const Skipped& entry : data.skipped) skipped += entry.path + ": " + entry.reason + "\n";
  EXPECT_THAT(skipped, HasSubstr("stray.jpg"));
  EXPECT_THAT(skipped, HasSubstr("moving.gif"));
  EXPECT_THAT(skipped, HasSubstr("link to nothing"));
  EXPECT_THAT(skipped, HasSubstr("leads back"));
}

TEST(Dataset, PoorDataIsRefusedOrNoted) {
  Folder empty;
  EXPECT_EQ(open_datasets(empty.path() + "/none").error().code(), ErrorCode::kIo);
  EXPECT_THAT(open_datasets(empty.path()).error().message(), HasSubstr("no class folder"));
  empty.write("x.jpg", photo());
  EXPECT_THAT(open_datasets(empty.path()).error().message(), HasSubstr("1 file(s)"));
  Folder no_images;
  no_images.write("a/readme.txt", "x");
  EXPECT_THAT(open_datasets(no_images.path()).error().message(), HasSubstr("holds no image"));
  Folder one_class;
  write_class(one_class, "only", 5);
  EXPECT_THAT(open_datasets(one_class.path()).error().message(), HasSubstr("one class only"));
  DatasetOptions to_extend;
  to_extend.classes_min = 1;
  EXPECT_TRUE(open_datasets(one_class.path(), to_extend).ok());
  EXPECT_EQ(open_labelled(one_class.path())->samples.size(), 5u);
  Folder singles;
  write_class(singles, "a", 1);
  write_class(singles, "b", 1);
  EXPECT_THAT(open_datasets(singles.path()).error().message(), HasSubstr("too few"));
  write_class(singles, "b", 5);
  std::filesystem::create_directory(singles.file("hollow"));
  const Datasets data = *open_datasets(singles.path());
  EXPECT_THAT(data.train.class_names, ElementsAre("a", "b"));
  EXPECT_THAT(all_notes(data), HasSubstr("class 'hollow' has no image"));
  EXPECT_THAT(all_notes(data), HasSubstr("class 'a' has one image: it is trained on and not validated"));
}

TEST(Dataset, ClassesOfValidationMustBeKnown) {
  Folder folder;
  write_class(folder, "train/a", 1);
  write_class(folder, "train/b", 1);
  write_class(folder, "val/a", 1);
  write_class(folder, "val/z", 1);
  const auto data = open_datasets(folder.path());
  ASSERT_FALSE(data.ok());
  EXPECT_THAT(data.error().message(), HasSubstr("'z'"));
  EXPECT_THAT(data.error().message(), HasSubstr("'a', 'b' (2)"));
}

TEST(Dataset, G30BlankLinesInLabelsAreLeftOutWithANote) {
  const Labels spaced = *parse_labels("a\nb\nc\n\n"), plain = *parse_labels("a\nb\nc");
  EXPECT_EQ(spaced.names, plain.names);
  EXPECT_TRUE(plain.notes.empty());
  ASSERT_EQ(spaced.notes.size(), 1u);
  EXPECT_THAT(spaced.notes[0], HasSubstr("1 blank line"));
  EXPECT_EQ(parse_labels("\xef\xbb\xbf one \r\n\r\ntwo\r\n")->names,
            (std::vector<std::string>{"one", "two"}));
  EXPECT_THAT(parse_labels("a\nb\na").error().message(), HasSubstr("line 3"));
  EXPECT_FALSE(parse_labels("\n \n").ok());
  Folder folder;
  for (const char* name : {"a", "b", "c"}) write_class(folder, name, 3);
  folder.write("labels.txt", "c\n\na\nb\n");
  const Datasets data = *open_datasets(folder.path());
  EXPECT_THAT(data.train.class_names, ElementsAre("c", "a", "b"));
  EXPECT_EQ(data.train.samples[0].label, 0);
  EXPECT_THAT(data.train.samples[0].path, HasSubstr("/c/"));
  EXPECT_THAT(all_notes(data), HasSubstr("blank line"));
  folder.write("labels.txt", "c\na\nd\n");
  const auto mismatch = open_datasets(folder.path());
  EXPECT_THAT(mismatch.error().message(), HasSubstr("'c', 'a', 'd' (3)"));
  EXPECT_THAT(mismatch.error().message(), HasSubstr("'a', 'b', 'c' (3)"));
}

TEST(Dataset, G30OtherCountAndOtherOrderAreRefusedWithBothLists) {
  const std::vector<std::string> three = {"a", "b", "c"}, four = {"a", "b", "c", "d"},
                                 turned = {"b", "a", "c"};
  EXPECT_TRUE(check_same_classes(three, three).ok());
  const Status count = check_same_classes(three, four);
  EXPECT_THAT(count.error().message(), HasSubstr("number of classes"));
  EXPECT_THAT(count.error().message(), HasSubstr("'a', 'b', 'c' (3)"));
  EXPECT_THAT(count.error().message(), HasSubstr("'a', 'b', 'c', 'd' (4)"));
  const Status order = check_same_classes(three, turned);
  EXPECT_THAT(order.error().message(), HasSubstr("order"));
  EXPECT_THAT(order.error().message(), HasSubstr("'b', 'a', 'c' (3)"));
}

TEST(Dataset, IdxPairsAreReadPlainAndPacked) {
  Folder folder;
  folder.write("train-images-idx3-ubyte.gz", gzip(idx_images_file(4, 2, 3, std::vector<uint8_t>(24, 7))));
  folder.write("train-labels-idx1-ubyte.gz", gzip(idx_labels_file({0, 2, 2, 0})));
  folder.write("t10k-images-idx3-ubyte", idx_images_file(1, 2, 3, {1, 2, 3, 4, 5, 6}));
  folder.write("t10k-labels-idx1-ubyte", idx_labels_file({2}));
  const auto data = open_datasets(folder.path());
  ASSERT_TRUE(data.ok()) << data.error().message();
  EXPECT_THAT(data->train.class_names, ElementsAre("0", "1", "2"));
  EXPECT_THAT(all_notes(*data), HasSubstr("class '1' has no training image"));
  EXPECT_EQ(data->train.samples[1].label, 2);
  EXPECT_EQ(data->train.name(1), "train-images-idx3-ubyte.gz[1]");
  EXPECT_EQ(load_image(data->train, 3)->rgb, std::vector<uint8_t>(18, 7));
  EXPECT_EQ(load_image(data->val, 0)->rgb,
            (std::vector<uint8_t>{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6}));
  folder.write("labels.txt", "shirt\nbag\ncoat\n");
  EXPECT_THAT(open_datasets(folder.path())->val.class_names, ElementsAre("shirt", "bag", "coat"));
  folder.write("labels.txt", "shirt\nbag\n");
  EXPECT_THAT(open_datasets(folder.path()).error().message(), HasSubstr("label 2"));
  std::filesystem::remove(folder.file("labels.txt"));
  const auto one = open_datasets(folder.file("train-images-idx3-ubyte.gz"));
  EXPECT_THAT(one->train.class_counts(), ElementsAre(1, 0, 1));
  EXPECT_EQ(open_unlabelled(std::vector<std::string>{folder.path()})->samples.size(), 4u);
  folder.write("t10k-labels-idx1-ubyte", idx_labels_file({2, 2}));
  EXPECT_THAT(open_datasets(folder.path()).error().message(), HasSubstr("1 images and 2 labels"));
  std::filesystem::remove(folder.file("t10k-labels-idx1-ubyte"));
  EXPECT_THAT(open_datasets(folder.path()).error().message(), HasSubstr("no labels"));
}

TEST(Dataset, IdxLiesAreRefused) {
  const std::string good = idx_images_file(2, 2, 2, std::vector<uint8_t>(8));
  EXPECT_TRUE(IdxImages::parse(good, "x").ok());
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(IdxImages::parse(good.substr(0, size), "x").ok()) << size;
  EXPECT_FALSE(IdxImages::parse(good + "x", "x").ok());
  const std::string packed = gzip(good);
  EXPECT_TRUE(IdxImages::parse(packed, "x").ok());
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_FALSE(IdxImages::parse(packed.substr(0, size), "x").ok()) << size;
  }
  EXPECT_FALSE(IdxImages::parse(gzip(good + "x"), "x").ok());
  EXPECT_FALSE(IdxImages::parse(gzip(good.substr(0, good.size() - 1)), "x").ok());
  EXPECT_FALSE(IdxImages::parse(idx_images_file(1'000'000'000, 4096, 4096, {}), "x").ok());
  EXPECT_FALSE(IdxImages::parse(gzip(idx_images_file(60'000, 28, 28, {})), "x").ok());
  EXPECT_FALSE(IdxImages::parse(idx_images_file(1, 0, 4, {}), "x").ok());
  EXPECT_FALSE(IdxImages::parse(idx_labels_file({1}), "x").ok());
  EXPECT_FALSE(parse_idx_labels(good, "x").ok());
  EXPECT_EQ(*parse_idx_labels(gzip(idx_labels_file({3, 1})), "x"), (std::vector<uint8_t>{3, 1}));
}

TEST(Dataset, CsvListsImages) {
  Folder folder;
  write_class(folder, "photos", 4);
  folder.write("list.csv",
               "path,label\nphotos/003.jpg,dog\n\"photos/000.jpg\",\"cat, black\"\nphotos/001.jpg,dog\n"
               "photos/gone.jpg,dog\nphotos/002.jpg,\"cat, black\"\n");
  const auto data = open_labelled(folder.file("list.csv"));
  ASSERT_TRUE(data.ok()) << data.error().message();
  EXPECT_THAT(data->class_names, ElementsAre("cat, black", "dog"));
  EXPECT_THAT(names_in(*data, folder),
              ElementsAre("photos/000.jpg", "photos/002.jpg", "photos/001.jpg", "photos/003.jpg"));
  ASSERT_EQ(data->skipped.size(), 1u);
  EXPECT_THAT(data->skipped[0].reason, HasSubstr("line 5"));
  // Numbers sort by value; without a header; a split column.
  folder.write("numbers.csv", "photos/000.jpg,10\nphotos/001.jpg,9\n");
  EXPECT_THAT(open_labelled(folder.file("numbers.csv"))->class_names, ElementsAre("9", "10"));
  folder.write("parts.csv",
               "label,file,split\na,photos/000.jpg,train\nb,photos/001.jpg,train\nb,photos/002.jpg,val\n");
  const Datasets parts = *open_datasets(folder.file("parts.csv"));
  EXPECT_EQ(parts.train.samples.size(), 2u);
  EXPECT_THAT(names_in(parts.val, folder), ElementsAre("photos/002.jpg"));
  folder.write("labels.txt", "zero\none\ntwo\n");
  folder.write("numbered.csv", "photos/000.jpg,2\nphotos/001.jpg,0\n");
  const Dataset numbered = *open_labelled(folder.file("numbered.csv"));
  EXPECT_THAT(numbered.class_names, ElementsAre("zero", "one", "two"));
  EXPECT_EQ(numbered.samples[1].label, 2);
}

TEST(Dataset, UnlabelledFilesAndFolders) {
  Folder folder;
  write_class(folder, "deep/a", 2);
  folder.write("z.bin", photo());
  const Dataset data = *open_unlabelled(std::vector<std::string>{folder.file("z.bin"), folder.file("deep")});
  EXPECT_THAT(names_in(data, folder), ElementsAre("z.bin", "deep/a/000.jpg", "deep/a/001.jpg"));
  EXPECT_EQ(data.samples[0].label, kNoLabel);
  EXPECT_EQ(limited(data, 2, 7).samples.size(), 2u);
  EXPECT_FALSE(open_unlabelled(std::vector<std::string>{folder.file("none")}).ok());
  EXPECT_FALSE(open_unlabelled({}).ok());
}

}  // namespace
}  // namespace tandem::data
