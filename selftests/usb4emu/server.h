/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The process around the core: sockets and the event loop.
 */
#ifndef USB4EMU_SERVER_H
#define USB4EMU_SERVER_H

#include "vfio_user.h"

struct server;

/**
 * struct source - something the event loop waits for
 * @fd: its descriptor
 * @ready: called with the epoll events
 */
struct source {
	int fd;
	void (*ready)(struct server *s, struct source *src, u32 events);
};

/**
 * struct client - the vfio-user socket of one router, at most one client
 * @listen: listening socket, asleep while a client is connected
 * @conn: connection, fd -1 if none
 * @path: of the listening socket
 * @dev: protocol state
 * @msg: message being received
 * @have: bytes of it received, header included
 * @body: its body
 */
struct client {
	struct source listen;
	struct source conn;
	const char *path;
	struct vfu_dev dev;
	struct vfu_message msg;
	u32 have;
	u8 body[VFU_MAX_BODY];
};

#define SERVER_MAX_CONTROL	16
#define CONTROL_LINE		256
#define CONTROL_MAX_REPLY	0x100000

/* A client of the control socket. */
struct control {
	struct source conn;
	char line[CONTROL_LINE];
	u32 line_len;
	char *reply;
	size_t reply_len;
	size_t reply_size;
	bool dead;
};

struct server {
	int epoll;
	struct emu *e;
	struct client *clients;
	u32 nr_clients;
	struct source control_listen;
	const char *control_path;
	struct control control[SERVER_MAX_CONTROL];
	struct source signals;
	FILE *capture;
	bool quit;
	struct vfu_reply reply;
};

/* server.c */
int server_watch(struct server *s, struct source *src, u32 events);
void server_unwatch(struct server *s, struct source *src);
int server_listen(struct server *s, struct source *src, const char *path, int type);
int server_start(struct server *s, const struct emu_config *cfg, char **paths, const char *control);
void server_run(struct server *s);
void server_stop(struct server *s);

/* client.c */
int client_start(struct server *s, struct client *c, u32 nr, const char *path, bool single_msi);
void client_stop(struct server *s, struct client *c);

/* control.c */
int control_start(struct server *s, const char *path);
void control_stop(struct server *s);

#endif /* USB4EMU_SERVER_H */
