/** Process of the embedded MongoDB server: `--data DIR --socket PATH`, started by a supervisor. */
import { runMongoProcess } from '@tollgate/embedded-mongo'
import { systemClock } from '../runtime/clock.ts'
import { createLogger } from '../runtime/log.ts'
import { lockFolder } from './folder-lock.ts'
import { runDirFor } from './run-dir.ts'

await runMongoProcess({
  log: createLogger({ name: 'mongo', level: 'info' }),
  clock: systemClock,
  lock: (dataDir) => lockFolder(runDirFor(dataDir), 'mongo'),
})
