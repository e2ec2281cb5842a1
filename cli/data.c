/* `phibal data build | debian | show`: text to token files. */
#include "commands.h"
#include "formats/json_text.h"
#include "moe/data/build.h"
#include "moe/data/chat.h"
#include "moe/data/debian.h"
#include "moe/data/token_file.h"
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t interrupted; /* the signal's number */

static void on_signal(int number) {
  interrupted = number;
}

/* Lets the work in progress end as an error does, which removes its temporary files. */
static void catch_interrupts(void) {
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

static void print_notice(const char *message) {
  command_say("data", "%s", message);
}

static int fail(void) {
  fprintf(stderr, "phibal data: %s\n", phibal_status_message());
  return interrupted ? 128 + interrupted : 2;
}

static int parse_integer(const char *text, long long low, long long high, long long *value) {
  char *end;
  errno = 0;
  *value = strtoll(text, &end, 10);
  return !errno && end != text && !*end && *value >= low && *value <= high;
}

static int parse_share(const char *text, double *value) {
  char *end;
  *value = strtod(text, &end);
  return end != text && !*end && *value >= 0 && *value <= 0.5;
}

/* One line of the table of a build. */
typedef struct row {
  const char *name;
  build_part train, validation;
} row;

static void add_part(build_part *to, const build_part *part) {
  to->documents += part->documents;
  to->bytes += part->bytes;
  to->tokens += part->tokens;
}

static void print_row(const row *r) {
  printf("%-16s %9lld %11lld %11lld %11lld %11lld\n", r->name,
         (long long)(r->train.documents + r->validation.documents),
         (long long)(r->train.bytes + r->validation.bytes),
         (long long)(r->train.tokens + r->validation.tokens), (long long)r->train.tokens,
         (long long)r->validation.tokens);
}

static json_t *part_json(const build_part *p) {
  return json_pack("{s:I, s:I, s:I}", "documents", (json_int_t)p->documents, "bytes",
                   (json_int_t)p->bytes, "tokens", (json_int_t)p->tokens);
}

static void print_json(json_t *root) {
  json_dumpf(root, stdout, JSON_INDENT(2));
  puts("");
  json_decref(root);
}

static void print_report(const char *folder, const build_report *report, int json) {
  json_t *domains = json_array();
  row total = {.name = "all"};
  if (!json)
    printf("%-16s %9s %11s %11s %11s %11s\n", "domain", "documents", "bytes", "tokens", "train",
           "validation");
  for (int32_t d = 0; d < report->domain_count; d++) {
    const build_domain *domain = &report->domains[d];
    row r = {.name = domain->name, .train = domain->train, .validation = domain->validation};
    add_part(&total.train, &r.train);
    add_part(&total.validation, &r.validation);
    json_array_append_new(domains,
                          json_pack("{s:s, s:o, s:o}", "name", r.name, "train", part_json(&r.train),
                                    "validation", part_json(&r.validation)));
    if (!json) print_row(&r);
  }
  json_t *root =
      json_pack("{s:o, s:i, s:o, s:I}", "folder", json_text(folder), "vocabulary",
                report->vocabulary, "domains", domains, "files", (json_int_t)report->files);
  const struct {
    const char *key, *words;
    int64_t count;
  } left_out[] = {{"empty_files", "empty", report->empty_files},
                  {"invalid_files", "not UTF-8", report->invalid_files},
                  {"zero_files", "with zero bytes", report->zero_files},
                  {"hidden_names", "with names that begin with a dot", report->hidden},
                  {"repeated_files", "other names of files that were read", report->again},
                  {"broken_links", "broken links", report->broken_links},
                  {"no_files", "pipes or devices", report->no_files}};
  enum { REASONS = sizeof left_out / sizeof *left_out };
  int64_t all = 0;
  for (int i = 0; i < REASONS; i++) {
    all += left_out[i].count;
    json_object_set_new(root, left_out[i].key, json_integer(left_out[i].count));
  }
  if (json) {
    print_json(root);
    return;
  }
  json_decref(root);
  print_row(&total);
  printf("%s/train.tokens%s, vocabulary %d\n", folder,
         total.validation.tokens ? " and validation.tokens" : "", report->vocabulary);
  if (!report->files) return;
  printf("%lld file%s read, %lld skipped", (long long)report->files, report->files == 1 ? "" : "s",
         (long long)all);
  const char *between = " (";
  for (int i = 0; i < REASONS; i++)
    if (left_out[i].count) {
      printf("%s%lld %s", between, (long long)left_out[i].count, left_out[i].words);
      between = ", ";
    }
  printf("%s; %lld documents, %lld tokens\n", all ? ")" : "",
         (long long)(total.train.documents + total.validation.documents),
         (long long)(total.train.tokens + total.validation.tokens));
}

static const char build_help[] =
    "usage: phibal data build --out DIR [options] [--domain NAME=PATH]... [PATH]...\n"
    "\n"
    "Makes DIR/train.tokens and DIR/validation.tokens from text files or folders (recursively).\n"
    "Each PATH is a domain, named after it; - is standard input. Each file is a document, but\n"
    "a domain that is a single file is split into documents of a 64th of it, 1 to 32 KiB, at\n"
    "empty lines where possible. In a file NAME.jsonl each line is an object whose \"text\" is a\n"
    "document.\n"
    "\n"
    "  --out DIR               where to\n"
    "  --domain NAME=PATH      a domain with a name; the same name again adds to it\n"
    "  --validation SHARE      fraction of the documents, by a hash of their text (0.05; 0: none)\n"
    "  --seed N                seed of that hash (1)\n"
    "  --document-bytes N      split longer files, at an empty line if possible; 0: never\n"
    "  --jsonl WHICH           which files are JSONL: named (default), those called .jsonl; all,\n"
    "                          including standard input; none\n"
    "  --invalid-utf8 WHAT     for a file that is not UTF-8, or has zero bytes: error (default),\n"
    "                          skip it, or keep its bytes\n"
    "  --tokenizer KIND        bytes (default), or sentencepiece or huggingface, with:\n"
    "    --model FILE            a SentencePiece model or a tokenizer.json, or a folder with\n"
    "                            tokenizer.model or tokenizer.json, such as that of the model to "
    "be\n"
    "                            tuned; its kind need not be said\n"
    "    --train-model           instead: train a SentencePiece model on the training part\n"
    "    --vocabulary N          its size (8000)\n"
    "  --instructions          the files are JSONL, one example per line:\n"
    "                            {\"messages\": [{\"role\": ..., \"content\": ...}, ...]} or\n"
    "                            {\"prompt\": ..., \"completion\": ...}\n"
    "                          targets are the assistant's messages, or the completion\n"
    "    --template FILE         JSON, {role: [before, after], ...}; default\n"
    "                            [\"<|ROLE|>\\n\", \"\\n\"], nothing after the assistant's\n"
    "    --chat FORMAT           instead: the chat format of a family of models, chatml, tulu,\n"
    "                            mistral, deepseek or deepseek-v3, with --model; own: the default\n"
    "  --overwrite             replace the corpus in DIR; runs trained on it can then not be\n"
    "                          resumed\n"
    "  --json                  print the table as JSON\n"
    "\n"
    "In folders, names that begin with a dot are skipped. Links are followed, and each file is\n"
    "taken once. Skipped files are counted at the end, by reason.";

/* The last part of a path without a trailing slash or an extension; to be freed. */
static char *path_name(const char *path) {
  if (!strcmp(path, "-")) return strdup("text");
  size_t end = strlen(path);
  while (end > 1 && path[end - 1] == '/') end--;
  size_t start = end;
  while (start && path[start - 1] != '/') start--;
  for (size_t dot = end; dot-- > start + 1;)
    if (path[dot] == '.') {
      end = dot;
      break;
    }
  return strndup(path + start, end - start);
}

/* What the arguments of `phibal data build` say. */
typedef struct build_arguments {
  build_options options;
  build_source *sources; /* as many as there can be; their names are owned */
  const char *tokenizer; /* null: not said */
  int train, json, instructions;
  const char *template; /* null: the default one */
  const char *chat;     /* null: not said */
  long long vocabulary; /* 0: not said */
  char *const *words;   /* argv */
} build_arguments;

static int add_named(build_arguments *a, const char *text) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text || !equals[1])
    return command_usage_error("data build", "--domain %s: expected NAME=PATH", text);
  a->sources[a->options.source_count++] =
      (build_source){.domain = strndup(text, (size_t)(equals - text)), .path = equals + 1};
  return 0;
}

static int add_positional(build_arguments *a, const char *path) {
  const size_t n = a->options.source_count++;
  a->sources[n] = (build_source){.domain = path_name(path), .path = path};
  for (size_t i = 0; i < n; i++)
    if (!strcmp(a->sources[i].domain, a->sources[n].domain))
      return command_usage_error("data build",
                                 "%s and %s would both be the domain '%s'; name them with --domain "
                                 "NAME=PATH",
                                 a->sources[i].path, path, a->sources[n].domain);
  return 0;
}

/* What getopt did not take: an option without its value (':'), or one that there is not. */
static int option_error(const char *command, int option, char *const *words,
                        const struct option *options) {
  if (option != ':') return command_unknown_option(command, words, options);
  return command_usage_error(command, "'%s' needs a value", words[optind - 1]);
}

/* In the order of build_invalid and of build_lines. */
static const char *const invalid_names[] = {"error", "skip", "keep", NULL};
static const char *const lines_names[] = {"named", "all", "none", NULL};
static const char *const tokenizer_names[] = {"bytes", "sentencepiece", "huggingface", NULL};

static const char *const *build_names(const char *option) {
  if (!strcmp(option, "invalid-utf8")) return invalid_names;
  if (!strcmp(option, "tokenizer")) return tokenizer_names;
  if (!strcmp(option, "chat")) return chat_format_names;
  return strcmp(option, "jsonl") ? NULL : lines_names;
}

/* One option; 0 or the exit status of a usage error. */
static int take_option(build_arguments *a, int option, const char *text) {
  long long n;
  switch (option) {
  case 'o':
    a->options.folder = text;
    return 0;
  case 'd':
    return add_named(a, text);
  case 'v':
    if (parse_share(text, &a->options.validation)) return 0;
    return command_usage_error("data build", "--validation %s: expected 0 to 0.5", text);
  case 's':
    if (!parse_integer(text, 0, INT64_MAX, &n))
      return command_usage_error("data build", "--seed %s: expected an integer", text);
    a->options.seed = (uint64_t)n;
    return 0;
  case 'b':
    if (!parse_integer(text, 0, (long long)1 << 40, &n))
      return command_usage_error("data build", "--document-bytes %s: expected a number of bytes",
                                 text);
    a->options.document_bytes = n;
    a->options.divide_one = false;
    return 0;
  case 'l':
    for (int i = 0; i < 3; i++)
      if (!strcmp(text, lines_names[i])) {
        a->options.lines = (build_lines)i;
        return 0;
      }
    return command_usage_error("data build", "--jsonl %s: expected named, all or none", text);
  case 'i':
    for (int i = 0; i < 3; i++)
      if (!strcmp(text, invalid_names[i])) {
        a->options.invalid = (build_invalid)i;
        return 0;
      }
    return command_usage_error("data build", "--invalid-utf8 %s: expected error, skip or keep",
                               text);
  case 't':
    a->tokenizer = text;
    for (int i = 0; tokenizer_names[i]; i++)
      if (!strcmp(text, tokenizer_names[i])) return 0;
    return command_usage_error(
        "data build", "--tokenizer %s: expected bytes, sentencepiece or huggingface", text);
  case 'm':
    a->options.model = text;
    return 0;
  case 'T':
    a->train = 1;
    return 0;
  case 'I':
    a->instructions = 1;
    return 0;
  case 'C':
    a->template = text;
    return 0;
  case 'F':
    a->chat = text;
    for (int i = 0; chat_format_names[i]; i++)
      if (!strcmp(text, chat_format_names[i])) return 0;
    return command_usage_error(
        "data build", "--chat %s: expected chatml, tulu, mistral, deepseek, deepseek-v3 or own",
        text);
  case 'V':
    if (parse_integer(text, 300, 1 << 24, &a->vocabulary)) return 0;
    return command_usage_error("data build", "--vocabulary %s: expected 300 to 16777216", text);
  case 'w':
    a->options.overwrite = true;
    return 0;
  case 'j':
    a->json = 1;
    return 0;
  default:
    return option_error("data build", option, a->words, manual_data_build.options);
  }
}

/* What goes together and what is missing; 0 or the exit status of a usage error. */
static int check_arguments(build_arguments *a) {
  const int pieces = a->options.model || a->train;
  if (!a->options.folder) return command_usage_error("data build", "--out DIR is missing");
  if (!a->options.source_count)
    return command_usage_error("data build",
                               "no text: name files or folders, or - for standard input");
  if (a->options.model && a->train)
    return command_usage_error("data build", "--model and --train-model: choose one");
  if (a->vocabulary && !a->train)
    return command_usage_error("data build", "--vocabulary is for --train-model");
  if (a->tokenizer && !strcmp(a->tokenizer, "sentencepiece") && !pieces)
    return command_usage_error("data build",
                               "--tokenizer sentencepiece: --model FILE or --train-model is needed "
                               "with it");
  const int json = a->tokenizer && !strcmp(a->tokenizer, "huggingface");
  if (json && !a->options.model)
    return command_usage_error("data build",
                               "--tokenizer huggingface: --model FILE is needed with it");
  if (a->tokenizer && a->options.model && strcmp(a->tokenizer, "bytes") &&
      json != tokenizer_is_json(a->options.model))
    return command_usage_error("data build", "--tokenizer %s: --model %s is of another kind",
                               a->tokenizer, a->options.model);
  if (a->tokenizer && !strcmp(a->tokenizer, "bytes") && pieces)
    return command_usage_error("data build",
                               "--tokenizer bytes has no model; leave out --model and "
                               "--train-model, or --tokenizer bytes");
  if (a->template && !a->instructions)
    return command_usage_error("data build", "--template is for --instructions");
  if (a->chat && (!a->instructions || a->template))
    return command_usage_error("data build", "--chat is for --instructions without --template");
  if (a->chat && strcmp(a->chat, "own") && !a->options.model)
    return command_usage_error("data build", "--chat %s: --model is needed with it", a->chat);
  if (a->instructions && (a->train || a->options.document_bytes))
    return command_usage_error("data build",
                               "--instructions: examples are not split, and need the tokenizer of "
                               "the tuned model: no --%s",
                               a->train ? "train-model" : "document-bytes");
  a->options.train_vocabulary = a->train ? (int32_t)(a->vocabulary ? a->vocabulary : 8000) : 0;
  return 0;
}

/* The template of --template or --chat, or else the default one, where the model has none. */
static phibal_status read_template(const build_arguments *a, chat_template *chat) {
  if (a->template) return chat_template_read(a->template, chat);
  tokenizer t = {0};
  bool own = false;
  phibal_status status = PHIBAL_OK;
  if (a->chat && strcmp(a->chat, "own")) {
    status = tokenizer_load(a->options.model, &t);
    if (!status) status = chat_template_named(a->chat, a->options.model, &t, chat);
    tokenizer_free(&t);
    return status;
  }
  if (!a->chat && a->options.model) status = chat_template_beside(a->options.model, &own);
  if (!status && own)
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "'%s' has a chat template: say which format it is (--chat), or "
                               "--template FILE, or --chat own for phibal's",
                               a->options.model);
  return status ? status : chat_template_default(chat);
}

static int run_build(build_arguments *a) {
  chat_template chat = {0};
  build_report report;
  phibal_status status = PHIBAL_OK;
  catch_interrupts();
  if (a->instructions) status = read_template(a, &chat);
  if (a->instructions) a->options.chat = &chat;
  if (!status) status = build_run(&a->options, &report);
  chat_template_free(&chat);
  if (status) return fail();
  print_report(a->options.folder, &report, a->json);
  build_report_free(&report);
  return 0;
}

static const struct option data_build_options[] = {{"out", required_argument, NULL, 'o'},
                                                   {"domain", required_argument, NULL, 'd'},
                                                   {"validation", required_argument, NULL, 'v'},
                                                   {"seed", required_argument, NULL, 's'},
                                                   {"document-bytes", required_argument, NULL, 'b'},
                                                   {"jsonl", required_argument, NULL, 'l'},
                                                   {"invalid-utf8", required_argument, NULL, 'i'},
                                                   {"tokenizer", required_argument, NULL, 't'},
                                                   {"model", required_argument, NULL, 'm'},
                                                   {"train-model", no_argument, NULL, 'T'},
                                                   {"vocabulary", required_argument, NULL, 'V'},
                                                   {"instructions", no_argument, NULL, 'I'},
                                                   {"template", required_argument, NULL, 'C'},
                                                   {"chat", required_argument, NULL, 'F'},
                                                   {"overwrite", no_argument, NULL, 'w'},
                                                   {"json", no_argument, NULL, 'j'},
                                                   {"help", no_argument, NULL, 'h'},
                                                   {0}};

const command_manual manual_data_build = {
    .name = "data build",
    .summary = "text files and folders, or instruction data, to token files",
    .text = build_help,
    .names = build_names,
    .operands = "PATH",
    .options = data_build_options};

static int data_build(int argc, char **argv) {
  build_arguments a = {.options = {.validation = 0.05,
                                   .seed = 1,
                                   .divide_one = true,
                                   .notice = print_notice,
                                   .interrupted = &interrupted}};
  a.sources = calloc((size_t)argc + 1, sizeof *a.sources);
  if (!a.sources) return 2;
  a.options.sources = a.sources;
  a.words = argv;
  int result = 0, help = 0;
  for (int c; !result && !help && (c = command_option(&manual_data_build, argc, argv, NULL)) != -1;)
    if (!(help = c == 'h')) result = take_option(&a, c, optarg);
  for (int i = optind; i < argc && !result && !help; i++) result = add_positional(&a, argv[i]);
  if (help) {
    command_help(&manual_data_build);
  } else if (!result && !(result = check_arguments(&a))) {
    result = run_build(&a);
  }
  for (size_t i = 0; i < a.options.source_count; i++) free((char *)a.sources[i].domain);
  free(a.sources);
  return result;
}

static void debian_help(void) {
  puts("usage: phibal data debian --out DIR [options]\n"
       "\n"
       "Makes a corpus of several domains from Debian 12 packages. They are downloaded and "
       "unpacked\n"
       "inside DIR, not installed: no root is needed and the system is unchanged. A corpus in DIR\n"
       "made with the same options is reused; a different one is not replaced.\n");
  const char *domain, *packages, *what;
  for (int i = 0; debian_domain(i, &domain, &packages, &what); i++)
    printf("  %-11s %s (%s)\n", domain, what, packages);
  puts("\n"
       "  --out DIR               where to\n"
       "  --domain-bytes N        maximum text per domain (4194304)\n"
       "  --validation SHARE      fraction of the documents, by a hash of their text (0.05)\n"
       "  --seed N                seed of that hash (1)\n"
       "  --keep-text             keep the documents in DIR/text\n"
       "  --overwrite --force     rebuild, replacing any corpus in DIR\n"
       "  --json                  print the table as JSON");
}

static const struct option data_debian_options[] = {{"out", required_argument, NULL, 'o'},
                                                    {"domain-bytes", required_argument, NULL, 'b'},
                                                    {"validation", required_argument, NULL, 'v'},
                                                    {"seed", required_argument, NULL, 's'},
                                                    {"keep-text", no_argument, NULL, 'k'},
                                                    {"overwrite", no_argument, NULL, 'f'},
                                                    {"force", no_argument, NULL, 'f'},
                                                    {"json", no_argument, NULL, 'j'},
                                                    {"help", no_argument, NULL, 'h'},
                                                    {0}};

const command_manual manual_data_debian = {.name = "data debian",
                                           .summary =
                                               "a corpus of eight domains from Debian's packages",
                                           .print = debian_help,
                                           .options = data_debian_options};

static int data_debian(int argc, char **argv) {
  debian_options options = {.domain_bytes = 4 << 20,
                            .validation = 0.05,
                            .seed = 1,
                            .notice = print_notice,
                            .interrupted = &interrupted};
  int json = 0;
  long long n;
  for (int c; (c = command_option(&manual_data_debian, argc, argv, NULL)) != -1;) switch (c) {
    case 'o':
      options.folder = optarg;
      break;
    case 'b':
      if (!parse_integer(optarg, 65536, (long long)1 << 40, &n))
        return command_usage_error("data debian", "--domain-bytes %s: expected at least 65536",
                                   optarg);
      options.domain_bytes = n;
      break;
    case 'v':
      if (!parse_share(optarg, &options.validation))
        return command_usage_error("data debian", "--validation %s: expected 0 to 0.5", optarg);
      break;
    case 's':
      if (!parse_integer(optarg, 0, INT64_MAX, &n))
        return command_usage_error("data debian", "--seed %s: expected an integer", optarg);
      options.seed = (uint64_t)n;
      break;
    case 'k':
      options.keep_text = true;
      break;
    case 'f':
      options.overwrite = true;
      break;
    case 'j':
      json = 1;
      break;
    case 'h':
      return command_help(&manual_data_debian);
    default:
      return option_error("data debian", c, argv, manual_data_debian.options);
    }
  if (optind < argc) return command_usage_error("data debian", "unexpected '%s'", argv[optind]);
  if (!options.folder) return command_usage_error("data debian", "--out DIR is missing");
  catch_interrupts();
  build_report report;
  if (debian_run(&options, &report)) return fail();
  print_report(options.folder, &report, json);
  build_report_free(&report);
  return 0;
}

static const char show_help[] =
    "usage: phibal data show [--json] FILE\n\n"
    "Shows the contents of a token file and its conditional bigram entropy (nats per token), the\n"
    "best loss of a model that sees only the previous token.\n\n"
    "  --json  as an object";

static const struct option data_show_options[] = {
    {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {0}};

const command_manual manual_data_show = {.name = "data show",
                                         .summary = "what a token file holds",
                                         .text = show_help,
                                         .operands = "FILE",
                                         .options = data_show_options};

static int data_show(int argc, char **argv) {
  int json = 0;
  for (int c; (c = command_option(&manual_data_show, argc, argv, NULL)) != -1;) switch (c) {
    case 'j':
      json = 1;
      break;
    case 'h':
      return command_help(&manual_data_show);
    default:
      return option_error("data show", c, argv, manual_data_show.options);
    }
  if (argc - optind != 1) return command_usage_error("data show", "expected one token file");
  token_file file;
  if (token_file_open(argv[optind], &file)) return fail();
  json_t *domains = json_array();
  if (!json) printf("%-16s %9s %11s %14s\n", "domain", "documents", "tokens", "bigram entropy");
  for (int32_t d = 0; d <= file.domains; d++) {
    int all = d == file.domains;
    long long documents = 0, tokens = 0;
    for (int64_t i = 0; i < file.documents; i++)
      if (all || file.table[i].domain == d) documents++, tokens += file.table[i].length;
    double nats;
    /* A domain without a document in this part has no entropy. */
    int known = !token_file_bigram_entropy(&file, all ? -1 : d, &nats);
    const char *name = all ? "all" : file.domain_names[d];
    json_array_append_new(domains,
                          json_pack("{s:s, s:I, s:I, s:o}", "name", name, "documents",
                                    (json_int_t)documents, "tokens", (json_int_t)tokens,
                                    "bigram_entropy_nats", known ? json_real(nats) : json_null()));
    if (!json && known) printf("%-16s %9lld %11lld %14.4f\n", name, documents, tokens, nats);
    if (!json && !known) printf("%-16s %9lld %11lld %14s\n", name, documents, tokens, "-");
  }
  json_t *root =
      json_pack("{s:o, s:i, s:i, s:o}", "file", json_text(argv[optind]), "vocabulary",
                file.vocabulary, "end_of_document", file.end_of_document, "domains", domains);
  long long learned = 0;
  for (int64_t i = 0; file.learned && i < file.tokens; i++) learned += token_file_learned(&file, i);
  if (file.learned) json_object_set_new(root, "learned_tokens", json_integer(learned));
  if (json)
    print_json(root);
  else {
    printf("vocabulary %d, end of document %d\n", file.vocabulary, file.end_of_document);
    if (file.learned) printf("examples, of which %lld tokens are learned\n", learned);
    json_decref(root);
  }
  token_file_close(&file);
  return 0;
}

static const command_manual *const data_parts[] = {&manual_data_build, &manual_data_debian,
                                                   &manual_data_show, NULL};

static void data_help(void) {
  puts("usage: phibal data build|debian|show [options]\n");
  for (int i = 0; data_parts[i]; i++)
    printf("  %-7s %s\n", strrchr(data_parts[i]->name, ' ') + 1, data_parts[i]->summary);
}

const command_manual manual_data = {.name = "data", .print = data_help, .parts = data_parts};

int command_data(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  if (!strcmp(name, "build")) return data_build(argc - 1, argv + 1);
  if (!strcmp(name, "debian")) return data_debian(argc - 1, argv + 1);
  if (!strcmp(name, "show")) return data_show(argc - 1, argv + 1);
  if (strcmp(name, "--help") && strcmp(name, "-h"))
    return command_usage_error("data", *name ? "unknown command '%s'" : "%sbuild, debian or show?",
                               name);
  return command_help(&manual_data);
}
