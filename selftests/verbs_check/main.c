// SPDX-License-Identifier: GPL-2.0
/*
 * Moves data between two RDMA devices with every verb and verifies every
 * byte of it, which perftest does not.
 *
 *	verbs_check -d DEV -g GID [-p PORT] [-T SECONDS]		server
 *	verbs_check -d DEV -g GID [OPTIONS] HOST			client
 *
 * The client says what is done, the server follows. A round is one verb, one
 * size and one direction: the source fills its buffer with a pattern that
 * depends on seed, side, round, message and position; the sink fills its own
 * with another one; the data moves; the sink looks at every byte of the
 * messages and of the gaps between them. Buffers begin at addresses that
 * change from round to round and are gathered from several pieces.
 *
 * Completions are waited for with events, never by polling, so that it runs
 * where CPU work takes no time. Both sides meet over TCP before and after
 * each round. The structures exchanged there are in host order: both sides
 * are of one architecture.
 *
 * Exit status: 0 everything arrived, 1 it did not, 2 usage or set-up.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "verbs_check.h"

const char * const vc_op_name[VC_NUM_OPS] = {
	"send", "send_imm", "write", "write_imm", "read", "fetch_add",
	"cmp_swap",
};

struct vc *vc_now;

void vc_die(int status, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "verbs_check: ");
	if (vc_now && vc_now->round)
		fprintf(stderr, "%s: round %u, %s of %u bytes: ",
			vc_now->side == VC_FROM_CLIENT ? "client" : "server",
			vc_now->round, vc_op_name[vc_now->op], vc_now->size);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(status);
}

static void vc_round(struct vc *vc, enum vc_op op, uint32_t size,
		     unsigned int flow)
{
	bool source = flow & vc->side;
	bool sink = flow & (VC_FROM_BOTH - vc->side);
	bool atomic = vc_is_atomic(op);
	bool initiator = op == VC_READ ? sink : source;
	unsigned int sends = 0;

	vc->round++;
	vc->op = op;
	vc->size = size;
	vc->count = vc_round_count(&vc->par, size);
	if (atomic) {
		if (vc->count > VC_ATOMICS)
			vc->count = VC_ATOMICS;
		vc_atomics_begin(vc);
	} else {
		if (source)
			vc_fill_source(vc);
		if (sink) {
			vc_fill_sink(vc);
			vc_post_recvs(vc);
		}
	}
	vc_barrier(vc, 1);
	if (initiator)
		sends = vc_post_sends(vc);
	vc_wait(vc, sends, sink ? vc_num_recvs(vc) : 0);
	vc_barrier(vc, 2);
	if (atomic)
		vc_atomics_end(vc, initiator, sink);
	else if (sink)
		vc_check_sink(vc);
}

static void vc_pass(struct vc *vc)
{
	const struct vc_params *par = &vc->par;
	unsigned int op, flow, i;

	for (op = 0; op < VC_NUM_OPS; op++) {
		if (!(par->ops & 1u << op))
			continue;
		for (i = 0; i < par->num_sizes; i++) {
			if (vc_is_atomic(op) && i)
				break;
			for (flow = 1; flow <= VC_FROM_BOTH; flow++) {
				if (!(par->flows & 1u << flow))
					continue;
				vc_round(vc, op, vc_is_atomic(op) ? 8 :
					 par->sizes[i], flow);
			}
		}
	}
}

/* The client says before each pass whether there is one more. */
static void vc_run(struct vc *vc)
{
	time_t end = time(NULL) + vc->seconds;
	unsigned int passes = 0;
	uint32_t more;

	while (true) {
		more = !passes || time(NULL) < end;
		if (vc->host)
			vc_exchange(vc, &more, NULL, sizeof(more));
		else
			vc_exchange(vc, NULL, &more, sizeof(more));
		if (!more)
			break;
		vc_pass(vc);
		passes++;
	}
	vc->round = 0;
	printf("verbs_check: %llu messages, %llu bytes received and verified\n",
	       (unsigned long long)vc->messages,
	       (unsigned long long)vc->bytes);
}

static void __attribute__((noreturn)) vc_usage(void)
{
	fprintf(stderr,
		"usage: verbs_check -d DEV -g GID [OPTIONS] [HOST]\n"
		"  -q rc|uc|ud      type of the queue pair (rc)\n"
		"  -o OP,...        send send_imm write write_imm read fetch_add cmp_swap\n"
		"                   (all that the type can do)\n"
		"  -s SIZE,...      sizes in bytes, K and M are understood (1,4096,65536)\n"
		"  -n COUNT         messages per round (4)\n"
		"  -f FLOW,...      data flows: out, in, both (all)\n"
		"  -m MTU           path MTU (the smaller of the two ports)\n"
		"  -O               on-demand paging\n"
		"  -S SEED          of the pattern\n"
		"  -t SECONDS       repeat for that long\n"
		"  -T SECONDS       longest wait for anything (20)\n"
		"  -p PORT          TCP port (18600)\n");
	exit(2);
}

static uint32_t vc_parse_ops(char *arg)
{
	uint32_t ops = 0;
	char *word;
	int i;

	while ((word = strsep(&arg, ","))) {
		for (i = 0; i < VC_NUM_OPS; i++) {
			if (!strcmp(word, vc_op_name[i]))
				break;
		}
		if (i == VC_NUM_OPS)
			vc_usage();
		ops |= 1u << i;
	}
	return ops;
}

static uint32_t vc_parse_flows(char *arg)
{
	static const char * const names[] = { "", "out", "in", "both" };
	uint32_t flows = 0;
	char *word;
	int i;

	while ((word = strsep(&arg, ","))) {
		for (i = 1; i <= VC_FROM_BOTH; i++) {
			if (!strcmp(word, names[i]))
				break;
		}
		if (i > VC_FROM_BOTH)
			vc_usage();
		flows |= 1u << i;
	}
	return flows;
}

static void vc_parse_sizes(struct vc_params *par, char *arg)
{
	char *word, *end;
	unsigned long n;

	par->num_sizes = 0;
	while ((word = strsep(&arg, ","))) {
		n = strtoul(word, &end, 0);
		if (*end == 'K' || *end == 'M')
			n <<= *end++ == 'K' ? 10 : 20;
		if (end == word || *end || n > 1u << 30 ||
		    par->num_sizes == VC_MAX_SIZES)
			vc_usage();
		par->sizes[par->num_sizes++] = n;
	}
}

static uint32_t vc_parse_type(const char *arg)
{
	if (!strcmp(arg, "rc"))
		return IBV_QPT_RC;
	if (!strcmp(arg, "uc"))
		return IBV_QPT_UC;
	if (!strcmp(arg, "ud"))
		return IBV_QPT_UD;
	vc_usage();
}

static uint32_t vc_ops_of_type(uint32_t type)
{
	uint32_t ops = 1 << VC_SEND | 1 << VC_SEND_IMM;

	if (type == IBV_QPT_UD)
		return ops;
	ops |= 1 << VC_WRITE | 1 << VC_WRITE_IMM;
	if (type == IBV_QPT_UC)
		return ops;
	return (1 << VC_NUM_OPS) - 1;
}

static uint32_t vc_mtu_enum(unsigned long bytes)
{
	uint32_t mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && 128ul << mtu < bytes)
		mtu++;
	if (128ul << mtu != bytes)
		vc_usage();
	return mtu;
}

static void vc_options(struct vc *vc, int argc, char **argv)
{
	struct vc_params *par = &vc->par;
	int opt;

	while ((opt = getopt(argc, argv, "d:g:q:o:s:n:f:m:OS:t:T:p:")) != -1) {
		switch (opt) {
		case 'd':
			vc->dev_name = optarg;
			break;
		case 'g':
			vc->gid_index = atoi(optarg);
			break;
		case 'q':
			par->qp_type = vc_parse_type(optarg);
			break;
		case 'o':
			par->ops = vc_parse_ops(optarg);
			break;
		case 's':
			vc_parse_sizes(par, optarg);
			break;
		case 'n':
			par->count = atoi(optarg);
			break;
		case 'f':
			par->flows = vc_parse_flows(optarg);
			break;
		case 'm':
			par->mtu = vc_mtu_enum(strtoul(optarg, NULL, 0));
			break;
		case 'O':
			par->odp = 1;
			break;
		case 'S':
			par->seed = strtoull(optarg, NULL, 0);
			break;
		case 't':
			vc->seconds = atoi(optarg);
			break;
		case 'T':
			par->timeout = atoi(optarg);
			break;
		case 'p':
			vc->port = atoi(optarg);
			break;
		default:
			vc_usage();
		}
	}
	if (optind < argc)
		vc->host = argv[optind++];
	if (!vc->dev_name || vc->gid_index < 0 || optind != argc ||
	    !par->count || par->count > VC_MAX_COUNT || !par->timeout)
		vc_usage();
	if (!par->ops)
		par->ops = vc_ops_of_type(par->qp_type);
	if (par->ops & ~vc_ops_of_type(par->qp_type))
		vc_die(2, "this type of queue pair has no such operation");
}

int main(int argc, char **argv)
{
	static struct vc vc = {
		.gid_index = -1,
		.port = VC_PORT,
		.par = {
			.magic = VC_MAGIC,
			.qp_type = IBV_QPT_RC,
			.flows = 1 << VC_FROM_CLIENT | 1 << VC_FROM_SERVER |
				 1 << VC_FROM_BOTH,
			.count = 4,
			.timeout = 20,
			.seed = 1,
			.num_sizes = 3,
			.sizes = { 1, 4096, 65536 },
		},
	};

	vc_options(&vc, argc, argv);
	vc_now = &vc;
	if (vc.host) {
		vc.side = VC_FROM_CLIENT;
		vc_connect(&vc);
		vc_sock_timeout(&vc, vc.par.timeout);
		vc_exchange(&vc, &vc.par, NULL, sizeof(vc.par));
	} else {
		vc.side = VC_FROM_SERVER;
		vc_accept(&vc);
		vc_sock_timeout(&vc, vc.par.timeout);
		vc_exchange(&vc, NULL, &vc.par, sizeof(vc.par));
		if (vc.par.magic != VC_MAGIC)
			vc_die(2, "the client is of another version");
		vc_sock_timeout(&vc, vc.par.timeout);
	}
	vc_create(&vc);
	vc_exchange(&vc, &vc.self, &vc.peer, sizeof(vc.self));
	if (!vc.par.mtu)
		vc.par.mtu = vc.self.mtu < vc.peer.mtu ? vc.self.mtu :
							 vc.peer.mtu;
	vc_to_init(&vc);
	vc_to_rts(&vc);
	vc_run(&vc);
	return 0;
}
