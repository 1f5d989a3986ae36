// A QEMU plugin (API version 1) that counts a process's instructions, and reports their number to the process.
#include <stdint.h>

struct qemu_plugin_tb;
typedef uint64_t word;
void qemu_plugin_register_vcpu_tb_trans_cb(word id, void (*call)(word id, struct qemu_plugin_tb *block));
word qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int operation, void *number, word operand);
void qemu_plugin_register_vcpu_syscall_cb(
    word id, void (*call)(word id, unsigned cpu, int64_t number, word a, word b, word c, word d, word e, word f, word g, word h));

int qemu_plugin_version = 1;
static word steps;

static void translated(word id, struct qemu_plugin_tb *block) {
  // Operation 0 adds.
  qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &steps, qemu_plugin_tb_n_insns(block));
}

static void called(word id, unsigned cpu, int64_t number, word a, word b, word c, word d, word e, word f, word g, word h) {
  // The tests' `martlet_steps` makes this call. Its addresses are valid here, because the emulated machine is of the same kind.
  if (number == 0x4d61) *(word *)a = steps;
}

int qemu_plugin_install(word id, const void *info, int argc, char **argv) {
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_vcpu_syscall_cb(id, called);
  return 0;
}
