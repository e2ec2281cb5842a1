/* Hugging Face models through the commands: evaluated, trained from, resumed, written again. */
#include "tests/moe/train_case.h"

#include "tests/data_files.h"
#include "moe/hf/hf_internal.h"
#include <criterion/criterion.h>
#include <math.h>
#include "formats/file.h"
#include "moe/data/tokenizer.h"
#include <stdlib.h>
#include <string.h>

TestSuite(huggingface_command, .init = train_case_create, .fini = train_case_remove);

static char output[1 << 20];

static void expect(int code, const char *arguments, const char *word) {
  cr_assert_eq(phibal_command("", arguments, output, sizeof output), code, "%s: %s", arguments,
               output);
  cr_assert(strstr(output, word), "no '%s' in: %s", word, output);
}

static json_t *json_of(const char *arguments) {
  json_error_t error;
  expect(0, arguments, "{");
  json_t *json = json_loads(output, 0, &error);
  cr_assert(json, "%s: %s", error.text, output);
  return json;
}

static double loss_of(const char *load) {
  char arguments[1024];
  snprintf(arguments, sizeof arguments,
           "eval-model --json --load %s --data validation.tokens --sequence 8 --batch 1", load);
  json_t *json = json_of(arguments);
  const double loss = number(json_object_get(json, "validation"), "loss");
  json_decref(json);
  return loss;
}

/* A fixture's folder into the test's own, under its name. */
static void take(const char *name) {
  char command[1024], path[256];
  path_to(name, path);
  snprintf(command, sizeof command, "cp -r '%s/tests/moe/hf/fixtures/%s' '%s'", PHIBAL_SOURCE_DIR,
           name, path);
  cr_assert_eq(system(command), 0);
}

/* A run file without the options of a model. */
static void put_run_file(void) {
  char path[256];
  path_to("", path);
  put_text(path, "tune.yaml",
           "model: {sequence: 8}\n"
           "batch: {sequences: 4, micro_sequences: 2}\n"
           "optimizer: {peak_lr: 1e-2}\n"
           "training: {steps: 3}\n"
           "data: {train: train.tokens, validation: validation.tokens}\n");
}

static safetensors_file weights_of(const char *folder) {
  char path[256], file[600];
  safetensors_file opened;
  path_to(folder, path);
  snprintf(file, sizeof file, "%s/model.safetensors", path);
  must(safetensors_open(file, &opened));
  return opened;
}

/* Nothing is learned at a rate of nothing: what comes out is what went in. */
Test(huggingface_command, in_and_out) {
  static const char *const names[] = {"olmoe",      "deepseek_v2", "deepseek_v3",
                                      "dots1",      "glm4_moe",    "qwen2_moe",
                                      "minimax_m2", "flex_olmo",   "gpt_oss"};
  put_run_file();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char arguments[512], folder[64];
    take(names[i]);
    snprintf(arguments, sizeof arguments,
             "train --config tune.yaml --from %s --lr 1e-40 --steps 1 --quiet --out run-%s",
             names[i], names[i]);
    expect(0, arguments, "checkpoints");
    snprintf(folder, sizeof folder, "run-%s", names[i]);
    const double loss = loss_of(names[i]);
    cr_expect_eq(loss_of(folder), loss);
    snprintf(arguments, sizeof arguments, "export --load run-%s --out out-%s --dtype bfloat16",
             names[i], names[i]);
    expect(0, arguments, "");
    snprintf(folder, sizeof folder, "out-%s", names[i]);
    cr_expect_eq(loss_of(folder), loss);
    safetensors_file in = weights_of(names[i]), out = weights_of(folder);
    cr_assert_eq(in.count, out.count);
    for (int64_t t = 0; t < in.count; t++) {
      cr_assert_str_eq(in.tensors[t].name, out.tensors[t].name);
      cr_expect(in.tensors[t].dtype == out.tensors[t].dtype &&
                    !memcmp(in.tensors[t].data, out.tensors[t].data, (size_t)in.tensors[t].bytes),
                "%s", in.tensors[t].name);
    }
    safetensors_close(&in);
    safetensors_close(&out);
  }
}

/* What a device has no kernels for is refused by its name, before a build without any is. */
Test(huggingface_command, parts_without_device_kernels) {
  static const char *const cases[][2] = {
      {"deepseek_v2", "latent attention"}, {"glm4_moe", "rope_width"}, {"qwen2_moe", "qkv_bias"},
      {"minimax_m2", "rope_width"},        {"flex_olmo", "post_norm"}, {"gpt_oss", "qkv_bias"}};
  put_run_file();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char arguments[512], message[128];
    take(cases[i][0]);
    snprintf(arguments, sizeof arguments,
             "train --config tune.yaml --from %s --device cuda --quiet --out %s-run", cases[i][0],
             cases[i][0]);
    snprintf(message, sizeof message, "training on a device has no %s yet", cases[i][1]);
    expect(2, arguments, message);
  }
  /* What a model of phibal's own may have alone. */
  expect(2,
         "train --config tiny --device cuda --quiet --out own --set data.train=train.tokens "
         "--set data.validation=validation.tokens --set model.vocabulary=17 "
         "--set model.shared_experts=1 --set model.shared_gate=true",
         "training on a device has no shared_gate yet");
  static const char *const own[][2] = {{"model.window=4", "window"},
                                       {"model.sinks=true", "sinks"},
                                       {"model.output_bias=true", "output_bias"},
                                       {"model.expert_limit=7", "expert_limit"}};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
    char arguments[512], message[128];
    snprintf(arguments, sizeof arguments,
             "train --config tiny --device cuda --quiet --out own --set data.train=train.tokens "
             "--set data.validation=validation.tokens --set model.vocabulary=17 "
             "--set model.shared_experts=0 --set %s",
             own[i][0]);
    snprintf(message, sizeof message, "training on a device has no %s yet", own[i][1]);
    expect(2, arguments, message);
  }
}

/* So are adapters of gpt-oss's experts, and their division among ranks. */
Test(huggingface_command, parts_of_gpt_oss_refused) {
  put_run_file();
  take("gpt_oss");
  expect(2,
         "train --config tune.yaml --from gpt_oss --quiet --out none --set lora.rank=2 "
         "--set lora.alpha=8 --set lora.targets=q_proj,down_proj",
         "'down_proj': GptOssForCausalLM has the experts of a layer in one tensor");
  expect(0,
         "train --config tune.yaml --from gpt_oss --quiet --out tuned --steps 2 --set lora.rank=2 "
         "--set lora.alpha=8 --set lora.dropout=0.1 --set lora.targets=v_proj,router",
         "");
  expect(2, "export --load tuned --adapters --out adapters", "PEFT has none of gpt-oss's routers");
  expect(0, "export --load tuned --like gpt_oss --out merged", "");
  expect(0, "info --model merged", "refused      nothing of config.json");
}

/* Every balancing method learns on, and what comes of it is evaluated alike as a run and as a
   Hugging Face model. */
Test(huggingface_command, tuned) {
  static const struct {
    const char *name, *method;
  } cases[] = {{"mixtral", "phi"},         {"qwen3_moe", "switch"}, {"deepseek", "sequence"},
               {"moonlight", "loss-free"}, {"deepseek_v3", "phi"},  {"deepseek_v2", "none"},
               {"qwen2_moe", "phi"},       {"glm4_moe", "phi"},     {"flex_olmo", "switch"},
               {"gpt_oss", "phi"}};
  put_run_file();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char arguments[512];
    take(cases[i].name);
    snprintf(arguments, sizeof arguments,
             "train --config tune.yaml --from %s --method %s --steps 30 --quiet --out run-%s "
             "--set balance.bias_rate=0.05",
             cases[i].name, cases[i].method, cases[i].name);
    expect(0, arguments, "checkpoints");
    snprintf(arguments, sizeof arguments, "run-%s", cases[i].name);
    const double before = loss_of(cases[i].name), after = loss_of(arguments);
    cr_expect_lt(after, 0.8 * before, "%s: from %g to %g", cases[i].name, before, after);
    snprintf(arguments, sizeof arguments, "export --load run-%s --out out-%s --like %s",
             cases[i].name, cases[i].name, cases[i].name);
    expect(0, arguments, "");
    snprintf(arguments, sizeof arguments, "out-%s", cases[i].name);
    cr_expect_eq(loss_of(arguments), after);
  }
}

/* A run that was killed before its first checkpoint starts from the weights again, and not from
   random ones; afterwards the folder they came from is not needed. */
Test(huggingface_command, resumed) {
  char path[256];
  put_run_file();
  take("olmoe");
  expect(0, "train --config tune.yaml --from olmoe --steps 4 --quiet --out whole", "checkpoints");
  expect(0, "train --config tune.yaml --from olmoe --steps 4 --quiet --out killed", "checkpoints");
  path_to("killed/checkpoints", path);
  folder_remove(path);
  expect(0, "train --resume killed --quiet", "checkpoints");
  path_to("olmoe", path);
  folder_remove(path);
  cr_expect_eq(loss_of("killed"), loss_of("whole"));
  json_t *a = metrics("whole"), *b = metrics("killed");
  cr_expect(json_equal(a, b));
  json_decref(a);
  json_decref(b);
}

/* Goes on with the run "resumed" of `steps` steps as if it had ended after the first `kept`. */
static void resume_from(int kept, int steps) {
  for (int step = kept + 1; step <= steps; step++) {
    char name[64], path[256];
    snprintf(name, sizeof name, "resumed/checkpoints/step-%012d", step);
    path_to(name, path);
    folder_remove(path);
  }
  expect(0, "train --resume resumed --quiet", "checkpoints");
}

/* With dropout before the adapters, the same but for a training that goes another way: resumed to
   the bit, on another number of threads and in other micro-batches where that is promised. */
Test(huggingface_command, adapters_with_dropout) {
  put_run_file();
  take("qwen3_moe");
#define DROPPED                                                                                    \
  "train --config tune.yaml --from qwen3_moe --quiet --set lora.rank=2 --set lora.alpha=8 "        \
  "--set checkpoint.every=1 --set checkpoint.keep=9 --steps 5 "
  expect(0, DROPPED "--set lora.dropout=0.4 --out whole", "checkpoints");
  expect(0, DROPPED "--set lora.dropout=0.4 --threads 3 --out resumed", "checkpoints");
  expect(0, DROPPED "--set lora.dropout=0 --out without", "checkpoints");
  resume_from(2, 5);
  json_t *a = metrics("whole"), *b = metrics("resumed"), *c = metrics("without");
  cr_expect(json_equal(a, b));
  /* B is 0 in the first step: no adapter says anything yet. */
  for (size_t step = 0; step < 5; step++)
    cr_expect_eq(number(json_array_get(a, step), "loss") == number(json_array_get(c, step), "loss"),
                 step == 0, "step %zu", step + 1);
  json_decref(a), json_decref(b), json_decref(c);
  expect(0, "export --load whole --out adapters --adapters", "");
  cr_expect_float_eq(loss_of("qwen3_moe --adapters adapters"), loss_of("whole"), 1e-6);
  expect(2, DROPPED "--set lora.dropout=1 --out no", "lora.dropout");
}

/* Only what has adapters moves; they can be taken out of the run and added to the model again; and
   a run that is resumed goes on to the bit. */
Test(huggingface_command, adapters) {
  put_run_file();
  take("qwen3_moe");
#define ADAPTED                                                                                    \
  "train --config tune.yaml --from qwen3_moe --quiet --set lora.rank=2 --set lora.alpha=8 "        \
  "--set lora.targets=q_proj,down_proj --set checkpoint.every=1 --set checkpoint.keep=9 "
  expect(0, ADAPTED "--steps 6 --out whole", "checkpoints");
  expect(0, ADAPTED "--steps 6 --out resumed", "checkpoints");
  resume_from(2, 6);
  json_t *a = metrics("whole"), *b = metrics("resumed");
  cr_expect(json_equal(a, b));
  json_decref(a);
  json_decref(b);
  expect(0, "export --load whole --out merged --like qwen3_moe", "");
  safetensors_file in = weights_of("qwen3_moe"), out = weights_of("merged");
  int moved = 0;
  for (int64_t t = 0; t < in.count; t++) {
    const uint16_t *before = in.tensors[t].data;
    const uint32_t *after = out.tensors[t].data;
    bool same = true;
    for (int64_t i = 0; i < in.tensors[t].elements; i++)
      same &= (uint32_t)before[i] << 16 == after[i];
    const bool adapted =
        strstr(in.tensors[t].name, "q_proj") || strstr(in.tensors[t].name, "down_proj");
    cr_expect_eq(same, !adapted, "%s", in.tensors[t].name);
    moved += adapted;
  }
  cr_expect_eq(moved, 3 + 1 + 2 * 6);
  safetensors_close(&in);
  safetensors_close(&out);
  const double before = loss_of("qwen3_moe"), after = loss_of("whole");
  cr_expect_lt(after, before - 0.1);
  expect(0, "export --load whole --out adapters --adapters", "");
  expect(0, "export --load qwen3_moe --merge adapters --out again", "");
  cr_expect_float_eq(loss_of("again"), after, 1e-6);
  cr_expect_float_eq(loss_of("qwen3_moe --adapters adapters"), after, 1e-6);
  cr_expect_float_eq(loss_of("merged"), after, 1e-12);
  expect(2, "export --load qwen3_moe --adapters --out x", "not a run with adapters");
  expect(2, "train --config tune.yaml --from qwen3_moe --set lora.rank=2 --set lora.targets=w1",
         "'w1'");
  expect(2, "train --config tiny --set lora.rank=2", "training.from");
  expect(2, "train --config tune.yaml --from qwen3_moe --set lora.rank=2 --shard-optimizer true",
         "not divided");
}

/* Tensors and targets of PEFT, as transformers 5 has the modules: fused experts get all three
   matrices, FFNs beside them are parameters, an embedding's factors are transposed, and a tied head
   has its own. peer.py loads them in PEFT. */
Test(huggingface_command, adapters_for_peft) {
  static const struct {
    const char *name, *targets, *modules, *parameters, *tensors[4], *none;
  } cases[] = {
      {"deepseek_v2",
       "o_proj,down_proj",
       "[\"o_proj\",\"down_proj\"]",
       "[\"mlp.down_proj.weight\",\"mlp.shared_experts.down_proj.weight\"]",
       {"model.layers.0.mlp.down_proj.lora_A.weight",
        "model.layers.1.mlp.experts.7.down_proj.lora_B.weight"},
       "model.layers.1.mlp.experts.0.gate_proj.lora_A.weight"},
      {"olmoe",
       "gate_proj",
       "[\"gate_proj\",\"up_proj\",\"down_proj\"]",
       NULL,
       {"model.layers.0.mlp.experts.0.up_proj.lora_A.weight",
        "model.layers.1.mlp.experts.3.down_proj.lora_B.weight"},
       "lm_head.lora_A.weight"},
      {"mixtral",
       "w3,down_proj",
       NULL,
       NULL,
       {"model.layers.1.block_sparse_moe.experts.3.w1.lora_B.weight"},
       "model.embed_tokens.lora_embedding_A"},
      {"olmoe",
       "embed_tokens",
       "[\"embed_tokens\"]",
       NULL,
       {"model.embed_tokens.lora_embedding_A", "model.embed_tokens.lora_embedding_B"},
       "lm_head.lora_A.weight"},
      {"qwen3_moe",
       "embed_tokens,up_proj",
       NULL,
       "[\"mlp.up_proj.weight\"]",
       {"model.embed_tokens.lora_embedding_A", "lm_head.lora_A.weight", "lm_head.lora_B.weight"},
       "model.embed_tokens.lora_A.weight"},
      {"deepseek", /* whose modules are not fused */
       "up_proj",
       "[\"up_proj\"]",
       NULL,
       {"model.layers.1.mlp.shared_experts.up_proj.lora_A.weight"},
       "model.layers.1.mlp.experts.0.gate_proj.lora_A.weight"},
  };
  put_run_file();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[600], path[256], name[200];
    take(cases[i].name);
    snprintf(text, sizeof text,
             "train --config tune.yaml --from %s --quiet --set lora.rank=2 --set lora.alpha=8 "
             "--set lora.dropout=0.1 --steps 5 --set lora.targets=%s --out run",
             cases[i].name, cases[i].targets);
    expect(0, text, "checkpoints");
    expect(0, "export --load run --adapters --out adapters", "");
    path_to("adapters", path);
    json_t *json;
    safetensors_file file;
    char *config = string_format("%s/adapter_config.json", path);
    char *tensors = string_format("%s/adapter_model.safetensors", path);
    must(hf_json_read(config, &json));
    must(safetensors_open(tensors, &file));
    char shown[512];
    hf_json_show(json_object_get(json, "target_modules"), shown);
    if (cases[i].modules) cr_expect_str_eq(shown, cases[i].modules, "%s", shown);
    json_t *parameters = json_object_get(json, "target_parameters");
    cr_expect_eq(!parameters, !cases[i].parameters, "case %zu", i);
    if (cases[i].parameters) {
      char *all = json_dumps(parameters, JSON_COMPACT);
      cr_expect_str_eq(all, cases[i].parameters);
      free(all);
    }
    for (int k = 0; k < 4 && cases[i].tensors[k]; k++) {
      snprintf(name, sizeof name, "base_model.model.%s", cases[i].tensors[k]);
      cr_expect(safetensors_find(&file, name), "case %zu: no %s", i, name);
    }
    snprintf(name, sizeof name, "base_model.model.%s", cases[i].none);
    cr_expect(!safetensors_find(&file, name), "case %zu: %s", i, name);
    safetensors_close(&file);
    json_decref(json);
    /* Added again, the model of the run. */
    snprintf(text, sizeof text, "%s --adapters adapters", cases[i].name);
    cr_expect_float_eq(loss_of(text), loss_of("run"), 1e-6, "case %zu", i);
    cr_expect_gt(fabs(loss_of(cases[i].name) - loss_of("run")), 1e-3, "case %zu", i);
    free(config), free(tensors);
    cr_assert_eq(phibal_command("rm -r run adapters *eep* olmoe mixtral qwen3_moe; : ", "", output,
                                sizeof output),
                 0);
  }
}

Test(huggingface_command, refuses) {
  char path[256];
  put_run_file();
  take("olmoe");
  path_to("", path);
  expect(2, "train --config tune.yaml --from absent", "absent/config.json");
  expect(2, "train --config tune.yaml --from olmoe --method dense", "missing");
  expect(2, "train --config tune.yaml --from olmoe --set model.width=20", "[40, 20]");
  expect(2, "train --config tiny --from olmoe --data train.tokens --out no",
         "the configuration wants");
  /* A vocabulary of 257 tokens is beyond the model's 40. */
  char command[2048];
  snprintf(command, sizeof command,
           "mkdir '%s/text' && yes words | head -n 99 > '%s/text/a' && '%s' data build "
           "--out '%s/bytes' --validation 0 '%s/text' 2>/dev/null >&2",
           path, path, getenv("PHIBAL"), path, path);
  cr_assert_eq(system(command), 0);
  expect(2, "eval-model --load olmoe --data bytes/train.tokens", "the model's own tokenizer");
  expect(2, "eval-model --load olmoe", "nothing to evaluate");
  expect(2, "eval-model --load olmoe --sequence 0", "--sequence '0'");
  expect(2, "export --load olmoe", "--out is needed");
  expect(2, "export --load olmoe --out tune.yaml", "tune.yaml");
  expect(2, "export --load olmoe --out x --dtype int8", "float32 or bfloat16");
  expect(2, "export --load olmoe --out x --shard-gib 0", "a number above 0");
  put_text(path, "olmoe/config.json", "{\"model_type\": \"gpt2\"}");
  expect(2, "eval-model --load olmoe --data validation.tokens", "'model_type' is \"gpt2\"");
  expect(2, "train --config tune.yaml --from olmoe", "'model_type' is \"gpt2\"");
  /* phibal's own models: embeddings that are scaled are none of transformers'. */
  run_config config;
  configure(&config, PAIRS("training.steps", "1"));
  json_decref(run(&config, "own"));
  expect(
      2, "export --load own --out x",
      "a model trained with --set model.activation=silu --set model.embedding_scale=false can be "
      "exported");
  configure(&config, PAIRS("training.steps", "1", "model.embedding_scale", "false",
                           "model.activation", "silu", "balance.method", "loss-free"));
  json_decref(run(&config, "free"));
  expect(2, "export --load free --out x",
         "trained with --method phi (or any but loss-free) can be");
  configure(&config, PAIRS("training.steps", "1", "model.embedding_scale", "false",
                           "model.activation", "silu", "model.qk_norm", "true"));
  json_decref(run(&config, "qwen"));
  expect(0, "export --load qwen --out x", "");
  cr_expect_eq(loss_of("x"), loss_of("qwen"));
}

static json_int_t positions_of(const char *folder) {
  char path[256];
  json_t *json;
  path_to(folder, path);
  char *file = string_format("%s/config.json", path);
  must(hf_json_read(file, &json));
  const json_int_t found = json_integer_value(json_object_get(json, "max_position_embeddings"));
  json_decref(json);
  free(file);
  return found;
}

/* max_position_embeddings is the model's, however long the sequences of a run from it are: written
   from the model itself, a run, and a run from that run. The fixture has 64. */
Test(huggingface_command, exports_the_positions_of_its_origin) {
  char path[256];
  put_run_file();
  take("olmoe");
  cr_assert_eq(positions_of("olmoe"), 64);
  expect(0, "train --config tune.yaml --from olmoe --steps 1 --quiet --out first", "checkpoints");
  expect(0, "train --config tune.yaml --from first --steps 1 --quiet --out second", "checkpoints");
  expect(0, "export --load olmoe --out a", "");
  expect(0, "export --load first --out b", "");
  expect(0, "export --load second --out c", "");
  expect(0, "export --load second --out d --positions 32", "");
  cr_expect_eq(positions_of("a"), 64);
  cr_expect_eq(positions_of("b"), 64);
  cr_expect_eq(positions_of("c"), 64);
  cr_expect_eq(positions_of("d"), 32);
  path_to("olmoe", path);
  folder_remove(path);
  expect(2, "export --load first --out e", "give --like or --positions");
  expect(0, "export --load first --out e --positions 64", "");
  cr_expect_eq(positions_of("e"), 64);
  expect(2, "export --load first --out f --positions 0", "--positions '0'");
  /* A model of phibal's own has what it was trained with, and more than the 2048 tokens at which an
     evaluation stops is not cut. */
  run_config config;
  configure(&config, PAIRS("training.steps", "1", "model.embedding_scale", "false",
                           "model.activation", "silu", "model.qk_norm", "true"));
  json_decref(run(&config, "own"));
  expect(0, "export --load own --out g", "");
  cr_expect_eq(positions_of("g"), config.model.sequence);
  expect(0, "export --load g --out h --positions 4096", "");
  expect(0, "export --load h --out i", "");
  cr_expect_eq(positions_of("i"), 4096);
}

/* A key that phibal does not know ends every command that reads the model, unless it is named. */
Test(huggingface_command, ignores_a_key_that_is_named) {
  char path[256];
  json_t *json;
  put_run_file();
  take("olmoe");
  path_to("olmoe", path);
  char *file = string_format("%s/config.json", path);
  must(hf_json_read(file, &json));
  json_object_set_new(json, "layer_scale", json_real(0.5));
  must(hf_json_write(path, "config.json", json));
  json_decref(json);
  free(file);
#define UNKNOWN "\"layer_scale\" is 0.5: a key that phibal does not know for olmoe"
  expect(2, "eval-model --load olmoe --data validation.tokens --sequence 8", UNKNOWN);
  expect(0,
         "eval-model --load olmoe --data validation.tokens --sequence 8 --ignore-key layer_scale",
         "olmoe");
  expect(2, "train --config tune.yaml --from olmoe --out run", UNKNOWN);
  expect(0, "train --config tune.yaml --from olmoe --out run --quiet --ignore-key layer_scale",
         "checkpoints");
  expect(2, "export --load olmoe --out a", UNKNOWN);
  expect(0, "export --load olmoe --out a --ignore-key b,layer_scale", "");
  expect(2, "export --load run --out b --like olmoe", UNKNOWN);
  expect(0, "export --load run --out b --like olmoe --ignore-key layer_scale", "");
  /* A run remembers it. */
  path_to("run/checkpoints", path);
  folder_remove(path);
  expect(0, "train --resume run --quiet", "checkpoints");
  expect(0, "export --load run --out c", "");
}

static void shell(const char *command) {
  char whole[2048];
  snprintf(whole, sizeof whole, "%s; : ", command);
  cr_assert_eq(phibal_command(whole, "", output, sizeof output), 0, "%s: %s", command, output);
}

/* The log-likelihoods of two questions, as text; to be freed. */
static char *likelihoods(const char *arguments) {
  char path[256], command[512];
  text_buffer text = {0};
  snprintf(command, sizeof command,
           "eval-model --choices q.jsonl --sequence 64 --details d.jsonl --overwrite %s",
           arguments);
  expect(0, command, "2 questions");
  path_to("d.jsonl", path);
  must(file_read_all(path, &text));
  must(text_buffer_append(&text, "", 1));
  return text.bytes;
}

/* Questions are asked in the model's own tokens. A folder without its tokenizer is no reason to ask
   in bytes, or in what lies in the current directory. */
Test(huggingface_command, choices_have_the_model_s_tokenizer) {
  run_config config;
  if (!tokenizer_has_sentencepiece()) cr_skip_test("this build has no SentencePiece");
  shell("mkdir text && for i in 1 2 3 4 5 6 7 8 9; do seq 1 300 | sed 's/$/ some words, and more/' "
        ">text/$i; done && for k in 0 1; do echo '{\"ctx\": \"some words\", \"endings\": [\"zq#\", "
        "\"and more\"], \"label\": 1}'; done >q.jsonl && \"$PHIBAL\" data build --out pieces "
        "--validation 0 --train-model --vocabulary 300 text && \"$PHIBAL\" data build --out bytes "
        "--validation 0 text");
  configure(&config, PAIRS("training.steps", "20", "model.vocabulary", "400", "model.sequence",
                           "64", "data.validation", "", "model.embedding_scale", "false",
                           "model.activation", "silu", "model.qk_norm", "true"));
  path_to("pieces/train.tokens", config.data.train);
  json_decref(run(&config, "own"));
  expect(0, "export --load own --out hf", "");
  char *pieces = likelihoods("--load hf --tokenizer pieces/tokenizer.model");
  char *bytes = likelihoods("--load hf --tokenizer bytes");
  cr_expect_str_neq(pieces, bytes);
  /* A run's is beside its data. */
  char *own = likelihoods("--load own");
  cr_expect_str_eq(own, pieces);
  /* None, and one in the current directory. */
  expect(2, "eval-model --load hf --choices q.jsonl",
         "'hf' has no tokenizer.model or tokenizer.json; give --tokenizer");
  shell("cp pieces/tokenizer.model .");
  expect(2, "eval-model --load hf --choices q.jsonl", "'hf' has no tokenizer.model");
  shell("rm tokenizer.model && echo '{}' >hf/tokenizer.json");
  expect(2, "eval-model --load hf --choices q.jsonl",
         "hf/tokenizer.json: no object: 'model'; give --tokenizer");
  shell("cp pieces/tokenizer.model hf");
  char *found = likelihoods("--load hf");
  cr_expect_str_eq(found, pieces);
  /* What was trained from it has its tokenizer, or that of the new data; bytes are not its tokens.
   */
  put_run_file();
  expect(2, "train --config tune.yaml --from hf --data bytes/train.tokens --out wrong",
         "holds bytes as tokens, and the model of 'hf' has 400");
  expect(0, "data build --out again --validation 0 --tokenizer sentencepiece --model hf text",
         "tokens");
  expect(0,
         "train --config tune.yaml --from hf --data again/train.tokens --validation '' --lr 1e-40 "
         "--steps 1 --quiet --out tuned",
         "checkpoints");
  char *tuned = likelihoods("--load tuned");
  cr_expect_str_eq(tuned, pieces);
  free(pieces), free(bytes), free(own), free(found), free(tuned);
}

/* `info --model` has every reason at once. */
Test(huggingface_command, says_what_a_model_is) {
  char path[256];
  json_t *json;
  take("deepseek_v3");
  expect(0, "info --model deepseek_v3", "deepseek_v3: DeepseekV3ForCausalLM");
  cr_expect(strstr(output, "8 of width 6, 3 active, 2 shared") &&
                strstr(output, "nothing of config"),
            "%s", output);
  json = json_of("info --model deepseek_v3 --json");
  cr_expect_eq(number(json, "parameters"), 8212);
  /* The selection bias of one layer is no parameter. */
  cr_expect_eq(number(json, "numbers"), 8212 + 8);
  json_decref(json);
  path_to("deepseek_v3", path);
  char *file = string_format("%s/config.json", path);
  must(hf_json_read(file, &json));
  json_object_set_new(json, "layer_scale", json_real(0.5));
  json_object_set_new(json, "other_scale", json_real(0.25));
  json_object_set_new(json, "is_causal", json_false());
  json_object_set_new(json, "hidden_size", json_string("16"));
  must(hf_json_write(path, "config.json", json));
  json_decref(json);
  expect(1, "info --model deepseek_v3", "\"layer_scale\" is 0.5");
  cr_expect(strstr(output, "\"other_scale\" is 0.25") && strstr(output, "'is_causal' is false") &&
                strstr(output, "'hidden_size' is a text"),
            "%s", output);
  expect(1, "info --model deepseek_v3 --ignore-key layer_scale,other_scale", "'is_causal'");
  cr_expect(!strstr(output, "layer_scale"), "%s", output);
  put_text(path, "config.json", "{\"model_type\": \"llama\"}");
  expect(1, "info --model deepseek_v3", "no architecture of phibal's");
  cr_expect(strstr(output, "'model_type' is \"llama\""), "%s", output);
  expect(2, "info --model absent", "absent/config.json");
  expect(2, "info --ignore-key x", "is for --model");
  free(file);
}

/* Sets an element of a tensor in a file to NaN (bits 0x7fc0), infinite (0x7f80) or very large. */
static void poison(const char *folder, const char *tensor, int64_t element, uint16_t high) {
  char path[256], file[600];
  path_to(folder, path);
  snprintf(file, sizeof file, "%s/model.safetensors", path);
  safetensors_file opened = weights_of(folder);
  const safetensors_tensor *t = safetensors_find(&opened, tensor);
  cr_assert(t && element < t->elements, "%s", tensor);
  const int64_t size = safetensors_dtype_bytes(t->dtype);
  cr_assert(t->dtype == SAFETENSORS_F32 || t->dtype == SAFETENSORS_BF16);
  const long at = (long)((const char *)t->data - (const char *)opened.mapping + element * size);
  const unsigned char bytes[4] = {0, 0, (unsigned char)high, (unsigned char)(high >> 8)};
  safetensors_close(&opened);
  FILE *to = fopen(file, "r+b");
  cr_assert(to && !fseek(to, at, SEEK_SET) && fwrite(bytes + 4 - size, (size_t)size, 1, to) == 1 &&
            !fclose(to));
}

Test(huggingface_command, names_weights_that_are_not_finite) {
  static const struct {
    const char *tensor, *named; /* for a place in a matrix of 16 columns */
    int64_t element;
    uint16_t bits;
  } cases[] = {
      {"model.embed_tokens.weight", "'model.embed_tokens.weight'[3][5] is NaN", 53, 0x7fc0},
      {"model.layers.1.mlp.experts.2.up_proj.weight",
       "'model.layers.1.mlp.experts.2.up_proj.weight'[1][1] is infinite", 17, 0xff80},
      {"model.layers.0.mlp.gate.weight", "'model.layers.0.mlp.gate.weight'[0][2] is NaN", 2,
       0xffc1},
      {"model.norm.weight", "'model.norm.weight'[4] is infinite", 4, 0x7f80}};
  put_run_file();
  take("deepseek_v3");
  poison("deepseek_v3", "model.layers.1.mlp.gate.e_score_correction_bias", 3, 0x7fc0);
  expect(2, "eval-model --load deepseek_v3 --choices absent --tokenizer bytes",
         "'model.layers.1.mlp.gate.e_score_correction_bias'[3] is NaN");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    take("olmoe");
    poison("olmoe", cases[i].tensor, cases[i].element, cases[i].bits);
    expect(2, "eval-model --load olmoe --data validation.tokens --sequence 8 --batch 1",
           cases[i].named);
    expect(2, "export --load olmoe --out made", cases[i].named);
    expect(2, "train --config tune.yaml --from olmoe --out run", cases[i].named);
    cr_expect_eq(phibal_command("test ! -e made && test ! -e run && : ", "", output, sizeof output),
                 0, "a folder is left behind");
    cr_assert_eq(phibal_command("rm -r olmoe; : ", "", output, sizeof output), 0);
  }
  /* The same of a run's own checkpoint, and of its weights alone. */
  take("olmoe");
  expect(0, "train --config tune.yaml --from olmoe --out run", "");
  expect(0, "export --load run --out fine", "");
  cr_assert_eq(phibal_command(
                   "cp -r run/checkpoints/step-000000000003 weights && rm weights/checkpoint.json "
                   "weights/training.safetensors; : ",
                   "", output, sizeof output),
               0, "%s", output);
  poison("weights", "model.layers.0.mlp.experts.down_proj.weight", 7, 0x7fc0);
  expect(2, "export --load weights --out made",
         "'model.layers.0.mlp.experts.down_proj.weight'[0][0][7] is NaN");
  expect(2, "eval-model --load weights", "is NaN");
}

/* Finite weights from which nothing finite comes: which numbers were the first. */
Test(huggingface_command, names_where_numbers_stop_being_finite) {
  static const struct {
    const char *tensor, *named;
  } cases[] = {{"model.layers.0.input_layernorm.weight", "the input of attention of layer 0 is"},
               {"model.layers.1.mlp.gate.weight", "the router's logits of layer 1 is"},
               {"model.layers.1.mlp.experts.0.gate_proj.weight", "of layer 1 is"}};
  put_run_file();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    take("olmoe");
    for (int64_t e = 0; e < 16; e++) poison("olmoe", cases[i].tensor, e, 0x7f7f);
    expect(2, "train --config tune.yaml --from olmoe --out run --overwrite", cases[i].named);
    expect(2, "eval-model --load olmoe --data validation.tokens --sequence 8 --batch 1",
           cases[i].named);
    cr_assert_eq(phibal_command("rm -r olmoe; : ", "", output, sizeof output), 0);
  }
}

/* The largest number of binary32 is infinite in bfloat16. */
Test(huggingface_command, exports_no_infinity) {
  safetensors_file opened;
  put_run_file();
  take("olmoe");
  expect(0, "train --config tune.yaml --from olmoe --out run", "");
  cr_assert_eq(phibal_command(
                   "cp -r run/checkpoints/step-000000000003 weights && rm weights/checkpoint.json "
                   "weights/training.safetensors; : ",
                   "", output, sizeof output),
               0, "%s", output);
  char path[256], file[600];
  path_to("weights", path);
  snprintf(file, sizeof file, "%s/model.safetensors", path);
  opened = weights_of("weights");
  const safetensors_tensor *t = safetensors_find(&opened, "model.norm.weight");
  const long at = (long)((const char *)t->data - (const char *)opened.mapping);
  safetensors_close(&opened);
  FILE *to = fopen(file, "r+b");
  cr_assert(to && !fseek(to, at, SEEK_SET) && fwrite("\xff\xff\x7f\x7f", 4, 1, to) == 1 &&
            !fclose(to));
  expect(0, "export --load weights --out wide --dtype float32", "");
  expect(2, "export --load weights --out narrow --dtype bfloat16",
         "'model.norm.weight': element 0, 3.40282e+38, would be infinite in bfloat16");
  cr_expect_eq(phibal_command("test ! -e narrow && : ", "", output, sizeof output), 0);
}
