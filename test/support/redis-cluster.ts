/** Shared with the benchmark. */
export { type ClusterNode, startTestCluster, type TestCluster } from './product/cluster.ts'
