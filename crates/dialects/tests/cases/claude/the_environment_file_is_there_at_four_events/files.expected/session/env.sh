export A=1
export A=1
export A=1
export A=1
