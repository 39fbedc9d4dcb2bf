/** Entry of a worker thread (piscina): builds the worker once, then accepts batches. */
import { isMainThread, type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { assert } from '../domain/assert.ts'
import { type PackedResult, packResult } from '../domain/packed-outcomes.ts'
import { type PackedTask, unpackTask } from '../domain/worker-protocol.ts'
import { buildWorker, type WorkerSettings } from './build.ts'
import { serve } from './serve.ts'

assert(!isMainThread, 'workers/main.ts runs in a worker thread')

const ready = buildWorker(workerData as WorkerSettings, (event) => parentPort?.postMessage(event))

/** Processes one batch. Never rejects because of a request: each has its own outcome. */
export async function charge(task: PackedTask): Promise<PackedResult> {
  const worker = await ready
  return packResult(await worker.process(unpackTask(task)))
}

/** The task of the thread (piscina), once for each event loop. */
export default function run({ port }: { port: MessagePort }): Promise<void> {
  return serve(port, charge)
}
