#include "tokenizer_internal.h"
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

class line_iterator : public sentencepiece::SentenceIterator {
public:
  line_iterator(tokenizer_lines lines, void *context) : lines_(lines), context_(context) {
    Next();
  }
  bool done() const override {
    return done_;
  }
  void Next() override {
    const char *line;
    size_t bytes;
    done_ = !lines_(context_, &line, &bytes);
    if (!done_) value_.assign(line, bytes);
  }
  const std::string &value() const override {
    return value_;
  }
  sentencepiece::util::Status status() const override {
    return {};
  }

private:
  tokenizer_lines lines_;
  void *context_;
  std::string value_;
  bool done_ = false;
};

char *copy_of(const std::string &text) {
  char *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (copy) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

} // namespace

void *sentencepiece_load(const char *model, size_t bytes, int32_t *vocabulary,
                         int32_t *end_of_sentence) try {
  auto pieces = std::make_unique<sentencepiece::SentencePieceProcessor>();
  if (!pieces->LoadFromSerializedProto({model, bytes}).ok()) return nullptr;
  *vocabulary = pieces->GetPieceSize();
  *end_of_sentence = pieces->eos_id();
  return pieces.release();
} catch (const std::exception &) {
  return nullptr;
}

void sentencepiece_free(void *pieces) {
  delete static_cast<sentencepiece::SentencePieceProcessor *>(pieces);
}

int sentencepiece_encode(const void *pieces, const char *text, size_t n, token_buffer *buffer) try {
  std::vector<int> ids;
  auto processor = static_cast<const sentencepiece::SentencePieceProcessor *>(pieces);
  if (!processor->Encode({text, n}, &ids).ok()) return 1;
  for (int id : ids)
    if (token_buffer_append(buffer, static_cast<uint32_t>(id))) return 1;
  return 0;
} catch (const std::exception &) {
  return 1;
}

int sentencepiece_decode(const void *pieces, const uint32_t *ids, size_t n, char **text,
                         size_t *bytes) try {
  const std::vector<int> all(ids, ids + n);
  std::string decoded;
  auto processor = static_cast<const sentencepiece::SentencePieceProcessor *>(pieces);
  if (!processor->Decode(all, &decoded).ok()) return 1;
  *bytes = decoded.size();
  *text = copy_of(decoded);
  return *text ? 0 : 1;
} catch (const std::exception &) {
  return 1;
}

int sentencepiece_train(tokenizer_lines lines, void *context, int32_t vocabulary, char **model,
                        size_t *bytes, char **error) try {
  *model = *error = nullptr;
  line_iterator iterator(lines, context);
  const std::unordered_map<std::string, std::string> options = {
      {"model_type", "bpe"},
      {"vocab_size", std::to_string(vocabulary)},
      {"byte_fallback", "true"},
      {"normalization_rule_name", "identity"},
      {"remove_extra_whitespaces", "false"},
      {"add_dummy_prefix", "false"},
      {"split_digits", "true"},
      {"character_coverage", "0.9999"},
      {"bos_id", "-1"},
      {"minloglevel", "2"},
  };
  std::string serialized;
  const auto status = sentencepiece::SentencePieceTrainer::Train(options, &iterator, &serialized);
  if (!status.ok()) {
    *error = copy_of(status.ToString());
    return 1;
  }
  *bytes = serialized.size();
  *model = copy_of(serialized);
  return *model ? 0 : 1;
} catch (const std::exception &failure) {
  *error = copy_of(failure.what());
  return 1;
}
