export { waitUntil } from '../../bench/wait.ts'
