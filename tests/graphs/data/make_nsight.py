#!/usr/bin/env python3
"""Makes nsight.sqlite: a run on two GPUs as `nsys export --type sqlite` writes it, schema 3.16.

Usage: python3 tests/graphs/data/make_nsight.py

Each of two iterations takes 1000 us. All times here are in microseconds.
"""

import pathlib
import sqlite3

FILE = pathlib.Path(__file__).with_name("nsight.sqlite")

# Columns that the reader uses, and some that it must not mind.
TABLES = """
PRAGMA page_size = 512;
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
  text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, gridX INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcDeviceId INTEGER, dstDeviceId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  value INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER,
  globalPid INTEGER, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, eventId INTEGER NOT NULL);
"""

HOST_TO_DEVICE, PEER_TO_PEER = 1, 10
STREAM_WAIT, DEVICE_SYNC = 2, 4
PROCESS = (1 << 56) + (100 << 24)
MAIN, AUTOGRAD = PROCESS + 7, PROCESS + 8
NO_STREAM = 2**32 - 1


class Recording:
    """Fills the tables."""

    def __init__(self, database):
        self.database = database
        self.strings = {}
        self.correlation = 0
        self.origin = 0

    def add(self, table, *values):
        marks = ", ".join("?" for _ in values)
        self.database.execute(f"INSERT INTO {table} VALUES ({marks})", values)

    def moment(self, us):
        return (self.origin + us) * 1000

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            self.add("StringIds", self.strings[text], text)
        return self.strings[text]

    def range(self, text, begin, end, registered=False):
        texts = (None, MAIN, self.string(text)) if registered else (text, MAIN, None)
        self.add("NVTX_EVENTS", self.moment(begin), self.moment(end), 59, None, *texts, 0)

    def call(self, name, at, thread=MAIN):
        self.correlation += 1
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", self.moment(at), self.moment(at + 2), 0, thread, self.correlation,
                 self.string(name), 0)
        return self.correlation

    def place(self, device, stream, correlation):
        return device, device + 1, stream, correlation, PROCESS

    def kernel(self, name, device, stream, launched, begin, end, thread=MAIN):
        correlation = self.call("cudaLaunchKernel_v7000", launched, thread)
        self.add("CUPTI_ACTIVITY_KIND_KERNEL", self.moment(begin), self.moment(end),
                 *self.place(device, stream, correlation), self.string(f"void {name}<float>(float*)"),
                 self.string(name), 64)

    def copy(self, kind, device, stream, launched, begin, end, size, target):
        correlation = self.call("cudaMemcpyAsync_v3020", launched)
        self.add("CUPTI_ACTIVITY_KIND_MEMCPY", self.moment(begin), self.moment(end),
                 *self.place(device, stream, correlation), size, kind, device, target)

    def memset(self, device, stream, launched, begin, end, size):
        correlation = self.call("cudaMemsetAsync_v3020", launched)
        self.add("CUPTI_ACTIVITY_KIND_MEMSET", self.moment(begin), self.moment(end),
                 *self.place(device, stream, correlation), 0, size)

    def record(self, event, device, stream, at):
        correlation = self.call("cudaEventRecord_v3020", at)
        self.add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", *self.place(device, stream, correlation), event)

    def wait(self, kind, device, stream, at, event=0):
        name = "cudaStreamWaitEvent_v3020" if kind == STREAM_WAIT else "cudaDeviceSynchronize_v3020"
        correlation = self.call(name, at)
        self.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", self.moment(at), self.moment(at + 1),
                 *self.place(device, stream, correlation), kind, event)

    def iteration(self):
        self.range("iteration", 0, 400)
        self.range("forward", 10, 105, registered=True)
        self.range("encoder", 20, 50)
        self.range("backward", 110, 200)
        self.copy(HOST_TO_DEVICE, 0, 7, 5, 10, 15, 1024, 0)
        self.kernel("encoder_gemm", 0, 7, 25, 30, 60)
        self.kernel("relu_kernel", 0, 7, 60, 62, 72)
        self.memset(1, 17, 65, 70, 72, 4096)
        self.record(1, 0, 7, 75)
        self.wait(STREAM_WAIT, 0, 8, 80, event=1)
        self.copy(PEER_TO_PEER, 0, 8, 85, 90, 110, 1 << 20, 1)
        self.record(2, 0, 8, 90)
        self.wait(STREAM_WAIT, 1, 17, 95, event=2)
        self.kernel("decoder_gemm", 1, 17, 120, 125, 165)
        self.kernel("gemm_backward", 0, 7, 130, 135, 150, AUTOGRAD)
        self.wait(DEVICE_SYNC, 1, NO_STREAM, 170)


def main():
    FILE.unlink(missing_ok=True)
    database = sqlite3.connect(FILE)
    database.executescript(TABLES)
    recording = Recording(database)
    recording.add("META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION", "3.16.1")
    for gpu in range(2):
        recording.add("TARGET_INFO_GPU", 0, gpu, "NVIDIA H200")
    # A mark, which is no range.
    recording.add("NVTX_EVENTS", 0, None, 34, None, "begin", MAIN, None, 0)
    for origin in (0, 1000):
        recording.origin = origin
        recording.iteration()
    database.commit()
    database.execute("VACUUM")
    database.close()


if __name__ == "__main__":
    main()
