// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the tests named on the command line, or all, each in a process of its
 * own, so that one that fails or hangs leaves the others alone.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "groups.h"

#define TAP_TIMEOUT_S	60

void tap_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	printf("# %s:%d: ", file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	tap_failed();
	fflush(stdout);
	/* The emulator is in our process group. */
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	_exit(1);
}

static bool tap_run(const struct tap_test *test)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		alarm(TAP_TIMEOUT_S);
		test->run();
		fflush(stdout);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	kill(-pid, SIGKILL);
	if (WIFSIGNALED(status))
		printf("# %s\n", WTERMSIG(status) == SIGALRM ? "timeout" :
		       strsignal(WTERMSIG(status)));
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool tap_wanted(const char *name, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strncmp(name, argv[i], strlen(argv[i])))
			return true;
	return argc == 1;
}

int main(int argc, char **argv)
{
	int nr = 0, failed = 0, pass, i, j;

	for (pass = 0; pass < 2; pass++) {
		if (pass)
			printf("TAP version 13\n1..%d\n", nr);
		for (i = 0, nr = 0; test_groups[i]; i++) {
			for (j = 0; test_groups[i][j].name; j++) {
				const struct tap_test *test = &test_groups[i][j];
				bool ok;

				if (!tap_wanted(test->name, argc, argv))
					continue;
				nr++;
				if (!pass)
					continue;
				ok = tap_run(test);
				failed += !ok;
				printf("%sok %d - %s\n", ok ? "" : "not ", nr, test->name);
			}
		}
	}
	if (!nr)
		printf("Bail out! no such test\n");
	return failed || !nr;
}
