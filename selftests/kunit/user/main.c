// SPDX-License-Identifier: GPL-2.0
/* Runs the suites in user space. */

#define MAX_SUITES	16
#define MAX_SHOWN	20

static struct kunit_suite *suites[MAX_SUITES];
static unsigned int num_suites, shown;

void kunit_add(struct kunit_suite *suite)
{
	assert(num_suites < MAX_SUITES);
	suites[num_suites++] = suite;
}

void kunit_failed(struct kunit *test, const char *file, int line,
		  const char *what, bool stop)
{
	test->failed = true;
	if (shown++ < MAX_SHOWN)
		printf("# %s:%d: %s %s: not %s\n", file, line, test->name,
		       test->param, what);
	if (stop)
		longjmp(test->end, 1);
}

/* Until the test is over */
void *kunit_kmalloc(struct kunit *test, size_t size, int gfp)
{
	void *p = malloc(size);

	assert(p);
	test->mem = realloc(test->mem, (test->num_mem + 1) * sizeof(p));
	assert(test->mem);
	test->mem[test->num_mem++] = p;
	return p;
}

/* Apart from who calls it, whose variables must not change by a longjmp() */
static __attribute__((noinline)) void once(const struct kunit_case *c, struct kunit *test)
{
	if (!setjmp(test->end))
		c->run(test);
}

/* A case with all its parameters: how often it ran. Failures are added up. */
static unsigned int run(const struct kunit_case *c, unsigned int *failed)
{
	const void *param = NULL;
	unsigned int times = 0;

	do {
		struct kunit test = { .name = c->name };

		if (c->gen) {
			param = c->gen(&test, param, test.param);
			if (!param)
				break;
			test.param_value = param;
		}
		once(c, &test);
		while (test.num_mem)
			free(test.mem[--test.num_mem]);
		free(test.mem);
		times++;
		*failed += test.failed;
	} while (c->gen);
	return times;
}

int main(void)
{
	unsigned int i, times, failed, bad = 0;
	const struct kunit_case *c;

	printf("TAP version 13\n1..%u\n", num_suites);
	for (i = 0; i < num_suites; i++) {
		times = 0;
		failed = 0;
		for (c = suites[i]->test_cases; c->name; c++)
			times += run(c, &failed);
		printf("%sok %u %s\n# %u cases, %u failed\n",
		       failed || !times ? "not " : "", i + 1, suites[i]->name,
		       times, failed);
		bad += failed || !times;
	}
	return bad || !num_suites;
}
