#include "schedule.h"
#include "kernels/core/cos_turn64.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t learning_rate_warmup(const optimizer_config *config, int64_t steps) {
  return (int64_t)(config->warmup * (double)steps + 0.5);
}

double learning_rate(const optimizer_config *config, int64_t step, int64_t steps) {
  return learning_rate_after(config, step, steps, learning_rate_warmup(config, steps));
}

double learning_rate_after(const optimizer_config *config, int64_t step, int64_t steps,
                           int64_t warmup) {
  if (step < warmup) return config->peak_lr * (double)(step + 1) / (double)warmup;
  double floor = config->final_lr * config->peak_lr;
  /* The last step is progress 1; with no step after the warm-up there is nothing to divide by. */
  double progress = (double)(step + 1 - warmup) / (double)(steps - warmup);
  return floor + (config->peak_lr - floor) * 0.5 * (1.0 + core_cos_turn64(0.5 * progress));
}

phibal_status schedule_read(const char *continued, int64_t steps, schedule *s) {
  *s = (schedule){.steps = steps};
  int64_t before = 0;
  for (const char *at = continued; *at;) {
    char *end;
    errno = 0;
    const bool digit = *at >= '0' && *at <= '9';
    const int64_t plan = strtoll(at, &end, 10);
    const bool both = digit && *end == '@' && end[1] >= '0' && end[1] <= '9';
    const int64_t until = both ? strtoll(end + 1, &end, 10) : 0;
    if (!both || errno || (*end && (*end != ',' || !end[1])))
      return phibal_status_set(
          PHIBAL_ERROR_FORMAT,
          "'%s': expected PLAN@STEP,...: the numbers of steps planned until these steps",
          continued);
    if (until <= before || until > plan || until > steps)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "'%s': a plan of %" PRId64 " steps until step %" PRId64
                               " cannot be, after step %" PRId64 " of a run of %" PRId64,
                               continued, plan, until, before, steps);
    if (s->earlier == SCHEDULE_PLANS_MAX)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "more than %d plans", SCHEDULE_PLANS_MAX);
    s->plan[s->earlier].steps = plan;
    s->plan[s->earlier++].until = before = until;
    at = end + (*end == ',');
  }
  return PHIBAL_OK;
}

/* The plan in force for step 0 .. . */
static int64_t plan_at(const schedule *s, int64_t step) {
  for (int32_t i = 0; i < s->earlier; i++)
    if (step < s->plan[i].until) return s->plan[i].steps;
  return s->steps;
}

int64_t schedule_warmup(const schedule *s, const optimizer_config *config) {
  return learning_rate_warmup(config, s->earlier ? s->plan[0].steps : s->steps);
}

double schedule_rate(const schedule *s, const optimizer_config *config, int64_t step) {
  return learning_rate_after(config, step, plan_at(s, step), schedule_warmup(s, config));
}

phibal_status schedule_continue(int64_t step, int64_t steps, int64_t *planned, char *continued,
                                size_t capacity) {
  schedule s;
  char text[4096] = "";
  if (steps < step)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "training.steps: %" PRId64 ", but the run has taken %" PRId64
                             " steps already",
                             steps, step);
  phibal_status status = schedule_read(continued, *planned, &s);
  if (status || steps == *planned) return status;
  /* What was planned for steps after this one is forgotten. */
  const int64_t plan = step ? plan_at(&s, step - 1) : 0;
  size_t n = 0;
  for (int32_t i = 0; i < s.earlier && s.plan[i].until < step && n < sizeof text; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "%s%" PRId64 "@%" PRId64, n ? "," : "",
                          s.plan[i].steps, s.plan[i].until);
  if (step && n < sizeof text)
    n += (size_t)snprintf(text + n, sizeof text - n, "%s%" PRId64 "@%" PRId64, n ? "," : "", plan,
                          step);
  if (n >= sizeof text || n >= capacity || s.earlier == SCHEDULE_PLANS_MAX)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "training.continued: too many plans");
  memcpy(continued, text, n + 1);
  *planned = steps;
  return PHIBAL_OK;
}
