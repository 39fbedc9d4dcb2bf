/** MongoDB wire protocol on LMDB in one process: see README.md. */
export { DataFolderInUseError } from './data-folder.ts'
export type { Clock, FolderLock, Log } from './interfaces.ts'
export { type ProcessOptions, runMongoProcess } from './process.ts'
export {
  type MongoServer,
  type MongoServerOptions,
  SocketPathError,
  startMongoServer,
} from './server.ts'
export { StorageFormatError } from './store/catalog.ts'
