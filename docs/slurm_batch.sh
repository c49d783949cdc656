#!/usr/bin/env bash
# A batch as a job array of Slurm: each task does one shard, the last step merges them.
#
#     sbatch --array=1-16 docs/slurm_batch.sh library hero.glb hero_library
#     sbatch --dependency=afterany:JOB docs/slurm_batch.sh merge hero_library
#
#SBATCH --job-name=understudy
#SBATCH --cpus-per-task=4
#SBATCH --mem-per-cpu=1500M
#SBATCH --time=04:00:00
#SBATCH --signal=B:TERM@120
set -euo pipefail
export OPENBLAS_NUM_THREADS=1

if [ "$1" = merge ]; then
  exec understudy merge "$2" --table parquet
fi
# Slurm sends SIGTERM before the time is over: finished clips are kept, and the same command goes on from there.
exec understudy batch "$1" "$2" -o "$3" --workers "${SLURM_CPUS_PER_TASK:-1}" \
  --shard "${SLURM_ARRAY_TASK_ID}/${SLURM_ARRAY_TASK_COUNT}"
